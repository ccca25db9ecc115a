--TEST--
A signal's handler ends sleep(), usleep() and time_nanosleep() early, and runs at once
--FILE--
<?php
/** In a child: waits until the parent sleeps in a system call and stays asleep, because some calls sleep only briefly. */
function until_parent_waits(): void {
    for ($seen = 0; $seen < 3;) {
        usleep(1000);
        $stat = file_get_contents('/proc/' . posix_getppid() . '/stat');
        $seen = substr($stat, strrpos($stat, ')') + 2, 1) === 'S' ? $seen + 1 : 0;
    }
}
pcntl_async_signals(true);
pcntl_signal(SIGALRM, function () { echo "handler\n"; });

$begun = microtime(true);
pcntl_alarm(1);
$left = sleep(30);
var_dump($left >= 20 && $left <= 30, microtime(true) - $begun < 10);

$pid = pcntl_fork();
if ($pid === 0) {
    until_parent_waits();
    posix_kill(posix_getppid(), SIGALRM);
    exit;
}
$left = time_nanosleep(20, 0);
var_dump(is_array($left) && $left['seconds'] >= 15 && $left['nanoseconds'] >= 0);
pcntl_waitpid($pid, $status);

$begun = microtime(true);
pcntl_alarm(1);
usleep(20_000_000);
var_dump(microtime(true) - $begun < 10);
--EXPECT--
handler
bool(true)
bool(true)
handler
bool(true)
handler
bool(true)
