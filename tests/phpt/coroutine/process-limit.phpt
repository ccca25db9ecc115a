--TEST--
So many helpers run at once; who waits for one may have a timeout
--WEFT-ONLY--
--FILE--
<?php
use Weft\Process;
use Weft\TimeoutException;
use function Weft\go;
use function Weft\parallel;

Process::limit(2);
$file = tempnam(sys_get_temp_dir(), 'helpers');
parallel(array_fill(0, 6, fn () => Process::run(function () use ($file): void {
    file_put_contents($file, '+', FILE_APPEND);
    while (substr_count(file_get_contents($file), '+') < 2) {
        usleep(1_000);
    }
    file_put_contents($file, '-', FILE_APPEND);
})));
$most = $now = 0;
foreach (str_split(file_get_contents($file)) as $event) {
    $most = max($most, $now += $event === '+' ? 1 : -1);
}
unlink($file);
echo $most, " at once\n";
try {
    Process::limit(3);
} catch (LogicException $error) {
    echo $error->getMessage(), "\n";
}
$busy = [go(Process::run(...), fn () => sleep(30)), go(Process::run(...), fn () => sleep(30))];
usleep(1000);
try {
    Process::run(fn () => 'never', 0.01);
} catch (TimeoutException $timeout) {
    echo $timeout->getMessage(), "\n";
}
foreach ($busy as $task) {
    $task->cancel();
}
echo Process::run(fn () => 'free again', 30.0), "\n";
--EXPECT--
2 at once
Process::limit() must be called before the first Process::run()
All 2 helper processes are busy; none became free within 0.01 seconds
free again
--STDERR--

