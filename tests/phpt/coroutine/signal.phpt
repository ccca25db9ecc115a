--TEST--
Signal::await() waits for a signal without holding up others, and keeps those that come in between
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Signal;
use Weft\TimeoutException;
use function Weft\go;

try {
    Signal::await([SIGUSR1, SIGUSR2], 0);
} catch (TimeoutException $timeout) {
    echo $timeout->getMessage(), "\n";
}
go(function (): void {
    usleep(1000);
    echo "meanwhile\n";
    posix_kill(getmypid(), SIGUSR2);
});
var_dump(Signal::await([SIGUSR1, SIGUSR2], 30.0) === SIGUSR2);
posix_kill(getmypid(), SIGUSR1); // no coroutine waits: the signal is kept
usleep(1000);
var_dump(Signal::await(SIGUSR1) === SIGUSR1);
$task = go(Signal::await(...), SIGUSR1);
usleep(1000);
$task->cancel();
try {
    $task->await(30.0);
} catch (CancelledError $cancelled) {
    echo get_class($cancelled), "\n";
}
// A handler of another signal runs meanwhile and does not end the wait.
pcntl_async_signals(true);
pcntl_signal(SIGALRM, fn () => print("alarm\n"));
go(function (): void {
    usleep(1000);
    posix_kill(getmypid(), SIGALRM);
    usleep(1000);
    posix_kill(getmypid(), SIGUSR1);
});
var_dump(Signal::await(SIGUSR1, 30.0) === SIGUSR1);
foreach ([[], 12345] as $wrong) {
    try {
        Signal::await($wrong, 0);
    } catch (ValueError $error) {
        echo get_class($error), "\n";
    }
}
--EXPECT--
No signal came within 0 seconds
meanwhile
bool(true)
bool(true)
Weft\CancelledError
alarm
bool(true)
ValueError
ValueError
