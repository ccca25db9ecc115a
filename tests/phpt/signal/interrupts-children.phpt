--TEST--
A handler without SA_RESTART interrupts pcntl_waitpid() and flock(); one with it does not
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
foreach ([true, false] as $restart) {
    pcntl_signal(SIGUSR1, function () { echo "handler\n"; }, $restart);
    $pid = pcntl_fork();
    if ($pid === 0) {
        until_parent_waits();
        posix_kill(posix_getppid(), SIGUSR1);
        until_parent_waits();
        exit(3);
    }
    $ended = pcntl_waitpid($pid, $status);
    var_dump($ended === $pid, $ended === $pid ? pcntl_wexitstatus($status) : pcntl_get_last_error() === PCNTL_EINTR);
    if ($ended !== $pid) {
        var_dump(pcntl_waitpid($pid, $status) === $pid);
    }

    $file = fopen(__FILE__, 'r');
    $pid = pcntl_fork();
    if ($pid === 0) {
        $mine = fopen(__FILE__, 'r');
        flock($mine, LOCK_EX);
        file_put_contents(__DIR__ . '/locked', '');
        until_parent_waits();
        posix_kill(posix_getppid(), SIGUSR1);
        until_parent_waits();
        exit(0);
    }
    while (!file_exists(__DIR__ . '/locked')) {
        clearstatcache(); // without a sleep, which the child would mistake for the wait
    }
    unlink(__DIR__ . '/locked');
    var_dump(flock($file, LOCK_EX));
    while (pcntl_waitpid($pid, $status) !== $pid);
    flock($file, LOCK_UN);
}
--EXPECT--
handler
bool(true)
int(3)
handler
bool(true)
handler
bool(false)
bool(true)
bool(true)
handler
bool(false)
