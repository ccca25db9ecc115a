--TEST--
A helper that is not done in time, or that nobody waits for any more, is killed
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Process;
use Weft\TimeoutException;
use function Weft\go;
use function Weft\timeout;

$spin = function (): void {
    file_put_contents('new', (string) getmypid());
    rename('new', 'helper');
    while (true) {
        hrtime();
    }
};
$gone = function (): bool {
    clearstatcache();
    if (!is_file('helper')) {
        return true; // killed before it could report its pid
    }
    $pid = (int) file_get_contents('helper');
    for ($i = 0; $i < 2000 && posix_kill($pid, 0); $i++) {
        usleep(1000);
    }
    unlink('helper');

    return $i < 2000;
};
try {
    Process::run($spin, 0.5);
} catch (TimeoutException $timeout) {
    echo $timeout->getMessage(), "\n";
}
var_dump($gone());
try {
    timeout(0.5, fn () => Process::run($spin));
} catch (TimeoutException $timeout) {
    echo get_class($timeout), "\n";
}
var_dump($gone());
$task = go(fn () => Process::run($spin));
while (!is_file('helper')) {
    usleep(1000);
    clearstatcache();
}
$task->cancel('enough');
try {
    $task->await();
} catch (CancelledError $cancelled) {
    echo $cancelled->getMessage(), "\n";
}
var_dump($gone(), pcntl_waitpid(-1, $status, WNOHANG));
--EXPECT--
The helper process was not done within 0.5 seconds, and is killed
bool(true)
Weft\TimeoutException
bool(true)
The task was cancelled: enough
bool(true)
int(-1)
--STDERR--

