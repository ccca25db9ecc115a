--TEST--
A handler interrupts msg_receive(); sem_acquire() goes on
--FILE--
<?php
pcntl_async_signals(true);
pcntl_signal(SIGUSR1, function () { echo "handler\n"; });
function later(callable $work): int {
    $pid = pcntl_fork();
    if ($pid === 0) {
        usleep(200_000);
        posix_kill(posix_getppid(), SIGUSR1);
        usleep(200_000);
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

$semaphore = sem_get($key, 1, 0600, false);
sem_acquire($semaphore);
$pid = later(fn () => null);
$other = pcntl_fork();
if ($other === 0) {
    usleep(600_000);
    exit;
}
pcntl_waitpid($pid, $status);
sem_release($semaphore);
var_dump(sem_acquire($semaphore));
pcntl_waitpid($other, $status);
sem_remove($semaphore);
--EXPECT--
handler
bool(false)
bool(true)
bool(true)
string(4) "text"
handler
bool(true)
