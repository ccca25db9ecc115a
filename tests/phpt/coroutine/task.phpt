--TEST--
Task: what it returns and throws, to all who await it; waiting with a limit; cancelling before, during and after
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Coroutine;
use Weft\TimeoutException;
use function Weft\go;

function thrown(callable $work): string
{
    try {
        return 'returned ' . json_encode($work());
    } catch (Throwable $e) {
        return $e::class . ': ' . $e->getMessage();
    }
}

$task = go(fn (int $a, int ...$more) => $a + array_sum($more), 1, 2, 3);
var_dump($task->ended(), $task->await(), $task->await(), $task->ended(), $task->failed(), $task->cancel());
$failing = go(function (): never {
    usleep(100);
    throw new DomainException('why not');
});
$waiting = [];
for ($i = 0; $i < 3; $i++) {
    $waiting[] = go(fn () => thrown(fn () => $failing->await()));
}
foreach ($waiting as $one) {
    echo $one->await(), "\n";
}
var_dump($failing->ended(), $failing->failed());

// A task begins when this coroutine waits; tasks run in the order in which they were started.
$order = [];
$tasks = [];
foreach (['a', 'b', 'c'] as $name) {
    $tasks[] = go(function () use ($name, &$order): void {
        $order[] = $name;
        Coroutine::yield();
        $order[] = $name . $name;
    });
}
$order[] = 'main';
array_walk($tasks, fn ($task) => $task->await());
echo implode(' ', $order), "\n";
$ids = array_map(fn ($task) => $task->id(), $tasks);
var_dump(count(array_unique($ids)) === 3, min($ids) > 0);

// A limit ends only the waiting.
$go = false;
$late = go(function () use (&$go): string {
    while (!$go) {
        usleep(100);
    }

    return 'late';
});
echo thrown(fn () => $late->await(0.001)), "\n", thrown(fn () => $late->await(0.0)), "\n";
$go = true;
echo $late->await(), "\n";

// A task that has not begun never does. In a wait, the wait throws once. Before a wait, the next one throws.
$ran = false;
$never = go(function () use (&$ran): void {
    $ran = true;
});
var_dump($never->cancel('not needed'), $never->cancel());
echo thrown(fn () => $never->await()), ', ', $ran ? 'it ran' : 'it never ran', "\n";
$stubborn = go(function (): string {
    try {
        sleep(60);
    } catch (CancelledError $e) {
        usleep(100); // once only
        return "stopped: {$e->getMessage()}";
    }
});
Coroutine::yield();
$stubborn->cancel('enough');
echo $stubborn->await(), "\n";
$busy = go(function () use (&$busy): string {
    $busy->cancel('by itself'); // it runs: its next wait throws
    $before = true;

    return thrown(fn () => usleep(100)) . ', then ' . thrown(fn () => usleep(100));
});
echo $busy->await(), "\n";
// Cancelling a coroutine that awaits a task does not cancel the task.
$slow = go(function () use (&$done): int {
    while (!$done) {
        usleep(100);
    }

    return 7;
});
$waiter = go(fn () => $slow->await());
Coroutine::yield();
$waiter->cancel();
echo thrown(fn () => $waiter->await()), "\n";
$done = true;
var_dump($slow->await());
var_dump(Coroutine::current(), go(fn () => Coroutine::current()?->id() === Coroutine::id())->await());
echo thrown(fn () => new Weft\Task()), "\n";
--EXPECTF--
bool(false)
int(6)
int(6)
bool(true)
bool(false)
bool(false)
DomainException: why not
DomainException: why not
DomainException: why not
bool(true)
bool(true)
main a b c aa bb cc
bool(true)
bool(true)
Weft\TimeoutException: Task %d has not ended in time
Weft\TimeoutException: Task %d has not ended in time
late
bool(true)
bool(false)
Weft\CancelledError: not needed, it never ran
stopped: The task was cancelled: enough
Weft\CancelledError: The task was cancelled: by itself, then returned null
Weft\CancelledError: The task was cancelled
int(7)
NULL
bool(true)
Error: Call to private Weft\Task::__construct() from global scope
