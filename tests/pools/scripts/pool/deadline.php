<?php

/* A user that waits too long gets an error and does not block those behind it. */

declare(strict_types=1);

use Weft\Pool;
use Weft\Pool\PoolTimeout;
use Weft\TimeoutException;

use function Weft\go;
use function Weft\timeout;

require getenv('POOLS') . '/support.php';

$pool = new Pool(fn () => new Thing(), max: 1, waitTimeout: 0.01, waitersMax: 3, name: 'things');
$thing = $pool->acquire();
echo thrown(fn () => $pool->acquire()), "\n";
echo thrown(fn () => timeout(0.01, fn () => $pool->acquire(10))), "\n";

$impatient = go(fn () => thrown(fn () => $pool->acquire(0.001)));
$patient = go(fn () => $pool->with(fn (Thing $thing) => "served with thing $thing->number", 10));
echo $impatient->await(), "\n";
$pool->release($thing);
echo $patient->await(), "\n";

$thing = $pool->acquire();
$tasks = array_map(fn () => go(fn () => $pool->with(fn () => null, 10)), [1, 2, 3]);
until(fn () => $pool->metrics()['waiting'] === 3);
echo thrown(fn () => $pool->acquire()), "\n";
$pool->release($thing);
array_walk($tasks, fn ($task) => $task->await());
echo numbers($pool, 'open', 'idle', 'waiting', 'waits', 'timeouts'), "\n";
var_dump(is_subclass_of(PoolTimeout::class, TimeoutException::class));

__halt_compiler();
Weft\Pool\PoolTimeout: Pool things: none of 1 became free in 0.01 s, and 0 more coroutines wait. Hold them for a shorter time, or raise max
Weft\TimeoutException: Not done within 0.01 seconds
Weft\Pool\PoolTimeout: Pool things: none of 1 became free in 0.001 s, and 1 more coroutines wait. Hold them for a shorter time, or raise max
served with thing 1
Weft\Pool\PoolException: Pool things: 3 coroutines wait already (waitersMax)
open 1, idle 1, waiting 0, waits 7, timeouts 2
bool(true)
