--TEST--
A handler interrupts msg_receive(); sem_acquire() goes on
--FILE--
<?php
pcntl_async_signals(true);
pcntl_signal(SIGUSR1, function () { echo "handler\n"; });
/** In a child: waits until the parent sleeps in a system call and stays asleep, because some calls sleep only briefly. */
function until_parent_waits(): void {
    for ($seen = 0; $seen < 3;) {
        usleep(1000);
        $stat = file_get_contents('/proc/' . posix_getppid() . '/stat');
        $seen = substr($stat, strrpos($stat, ')') + 2, 1) === 'S' ? $seen + 1 : 0;
    }
}
/** A child that signals while the parent waits, and does its work once the parent waits again. */
function later(callable $work): int {
    $pid = pcntl_fork();
    if ($pid === 0) {
        until_parent_waits();
        posix_kill(posix_getppid(), SIGUSR1);
        until_parent_waits();
        $work();
        exit;
    }
    return $pid;
}
$key = random_int(1, 0x7fffffff);
$queue = msg_get_queue($key);
$pid = later(fn () => msg_send($queue, 1, 'text'));
var_dump(msg_receive($queue, 0, $kind, 100, $message, true, 0, $error), $error === PCNTL_EINTR);
var_dump(msg_receive($queue, 0, $kind, 100, $message), $message);
pcntl_waitpid($pid, $status);
msg_remove_queue($queue);

// Both open the same key: an inherited semaphore would be released when the child ends.
$pid = pcntl_fork();
if ($pid === 0) {
    $semaphore = sem_get($key, 1, 0600, false);
    sem_acquire($semaphore);
    touch('held');
    until_parent_waits();
    posix_kill(posix_getppid(), SIGUSR1);
    until_parent_waits();
    sem_release($semaphore);
    exit;
}
while (!file_exists('held')) {
    clearstatcache(); // without a sleep, which the child would mistake for the wait
}
$semaphore = sem_get($key, 1, 0600, false);
var_dump(sem_acquire($semaphore));
pcntl_waitpid($pid, $status);
sem_remove($semaphore);
--EXPECT--
handler
bool(false)
bool(true)
bool(true)
string(4) "text"
handler
bool(true)
