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
$works = array_fill(0, 6, fn () => Process::run(function (): array {
    $start = hrtime(true);
    usleep(150_000);

    return [$start, hrtime(true)];
}));
$spans = parallel($works);
$most = 0;
foreach ($spans as [$start]) {
    $most = max($most, count(array_filter($spans, fn (array $span) => $span[0] <= $start && $start < $span[1])));
}
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

