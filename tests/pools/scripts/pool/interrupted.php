<?php

/* A use that was cut short, or that its coroutine never ended, costs the resource: no other user gets it. */

declare(strict_types=1);

use Weft\Pool;

use function Weft\go;
use function Weft\timeout;

require getenv('POOLS') . '/support.php';

$pool = new Pool(fn () => new Thing(), max: 1);
$use = fn (): int => $pool->with(fn (Thing $thing) => $thing->number);

$task = go(fn () => $pool->with(fn () => sleep(60)));
$next = go($use);
until(fn () => $pool->metrics()['waiting'] === 1);
$task->cancel();
echo 'after a cancelled use: thing ', $next->await(), "\n", thrown(fn () => $task->await()), "\n";

echo thrown(fn () => timeout(0.01, fn () => $pool->with(fn () => sleep(60)))), "\n";
echo 'after a timeout: thing ', $use(), "\n";

go(fn () => $pool->acquire())->await();
echo 'after one who forgot it: thing ', $use(), "\n";

echo thrown(fn () => $pool->with(fn () => throw new DomainException('my own'))), "\n";
echo 'after an exception, of a resource that cannot be checked: thing ', $use(), "\n";

// Cancelled while it waits: the next user is served. Cancelled after it was served: it did not wait again.
$thing = $pool->acquire();
$tasks = [go($use), go($use), go($use)];
until(fn () => $pool->metrics()['waiting'] === 3);
$tasks[0]->cancel();
$pool->release($thing);
$tasks[1]->cancel();
echo thrown(fn () => $tasks[0]->await()), "\n";
echo $tasks[1]->await() === $tasks[2]->await() ? "the others are served\n" : "they differ\n";
echo thrown(fn () => $pool->release($thing)), "\n";
echo numbers($pool, 'open', 'idle', 'in_use', 'waiting', 'discarded'), "\n";

__halt_compiler();
after a cancelled use: thing 2
Weft\CancelledError: The task was cancelled
Weft\TimeoutException: Not done within 0.01 seconds
after a timeout: thing 3
after one who forgot it: thing 4
DomainException: my own
after an exception, of a resource that cannot be checked: thing 5
Weft\CancelledError: The task was cancelled
the others are served
Weft\Pool\PoolException: Pool pool: this is not in use, so it cannot be returned (returned twice?)
open 1, idle 1, in_use 0, waiting 0, discarded 4
