<?php

/* A closed pool refuses new and waiting users, and closes the resources that come back. */

declare(strict_types=1);

use Weft\Pool;

use function Weft\go;

require getenv('POOLS') . '/support.php';

$pool = new Pool(fn () => new Thing(), max: 2);
[$one, $other] = [$pool->acquire(), $pool->acquire()];
$pool->release($other);
$other = $pool->acquire();
$waiting = go(fn () => thrown(fn () => $pool->acquire()));
until(fn () => $pool->metrics()['waiting'] === 1);
$pool->close();
echo $waiting->await(), "\n", thrown(fn () => $pool->acquire()), "\n", numbers($pool, 'open', 'in_use'), "\n";
$pool->release($one);
$pool->discard($other);
echo numbers($pool, 'open', 'idle', 'in_use'), "\n";

__halt_compiler();
Weft\Pool\PoolException: Pool pool is closed
Weft\Pool\PoolException: Pool pool is closed
open 2, in_use 2
open 0, idle 0, in_use 0
