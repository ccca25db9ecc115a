<?php

/* Suspensions of {main}, of user code's Fibers and of tasks: values, exceptions, cancellation. */

declare(strict_types=1);

use function Weft\go;
use function Weft\timeout;

require getenv('POOLS') . '/support.php';
require getenv('POOLS') . '/revolt/contract.php';

$loop = loop();
echo pause(0.001, 'main'), "\n";
$suspension = $loop->getSuspension();
$loop->defer(static fn () => $suspension->throw(new DomainException('thrown into main')));
echo thrown(fn () => $suspension->suspend()), "\n";
echo thrown(fn () => $suspension->resume()), "\n";

// Fifty at once, each nested: a future in a future, in Fibers of the loop.
$inside = $most = 0;
$nested = static function (int $n) use (&$inside, &$most): Promise {
    return new Promise(static function () use ($n, &$inside, &$most): int {
        $most = max($most, ++$inside);
        $inner = new Promise(fn () => pause(0.02, $n));
        $sum = pause(0.02, 0) + $inner->await();
        --$inside;

        return $sum;
    });
};
$promises = array_map($nested, range(1, 50));
echo array_sum(array_map(fn ($promise) => $promise->await(), $promises)), "\n";
echo "$most at the same time\n";

// Tasks of weft wait for the loop as {main} does, and do not block the loop or each other.
$tasks = array_map(fn ($n) => go(static function () use ($n): int {
    usleep(1000);

    return pause(0.01, $n) + (new Promise(fn () => $n))->await();
}), range(1, 50));
echo array_sum(array_map(fn ($task) => $task->await(), $tasks)), "\n";

// A Fiber made by user code in a task, resumed by the loop.
echo go(static function (): string {
    $fiber = new Fiber(fn () => pause(0.002, 'in a fiber'));
    $fiber->start();
    pause(0.01); // in a script the loop runs only while a coroutine waits for it

    return $fiber->getReturn();
})->await(), "\n";

// The suspension was cut short: resuming it later does nothing.
$task = go(static function () use ($loop, &$late): string {
    $late = $loop->getSuspension();

    return thrown(fn () => timeout(0.005, fn () => $late->suspend()));
});
echo $task->await(), "\n";
$loop->defer(static function () use (&$late): void {
    echo "resumed too late\n";
    $late->resume('late');
});
pause(0.001);
$task = go(fn () => pause(60.0));
usleep(1000);
$task->cancel('enough');
echo thrown(fn () => $task->await()), "\n";

echo thrown(static function () use ($loop, $suspension): void {
    foreach ($loop->getIdentifiers() as $id) {
        $loop->cancel($id);
    }
    $loop->getSuspension()->suspend();
}), "\n";
echo pause(0.001, 'main goes on'), "\n";

__halt_compiler();
main
DomainException: thrown into main
Error: Must call suspend() before calling resume()
1275
50 at the same time
2550
in a fiber
Weft\TimeoutException: Not done within 0.005 seconds
resumed too late
Weft\CancelledError: The task was cancelled: enough
Error: Event loop terminated without resuming the current suspension (the cause is either a fiber deadlock, or an incorrectly unreferenced/canceled watcher)
main goes on
