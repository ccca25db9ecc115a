<?php

/* The server cannot be reached: every user gets the error, no user waits forever, and the pool works once the server
 * is back. */

declare(strict_types=1);

use Weft\Pool;

use function Weft\go;

require getenv('POOLS') . '/support.php';

$up = false;
$pool = new Pool(static function () use (&$up): Thing {
    usleep(2000);

    return $up ? new Thing() : throw new RuntimeException('connection refused');
}, max: 2, waitTimeout: 60);

$results = array_map(fn ($number) => go(fn () => thrown(fn () => $pool->with(fn () => $number))), range(1, 10));
foreach (array_count_values(array_map(fn ($task) => $task->await(), $results)) as $result => $times) {
    echo "$times x $result\n";
}
echo numbers($pool, 'open', 'in_use', 'connecting', 'waiting', 'failures'), "\n";

$up = true;
$results = array_map(fn ($number) => go(fn () => $pool->with(fn () => $number)), range(1, 10));
echo implode(' ', array_map(fn ($task) => $task->await(), $results)), "\n";
echo numbers($pool, 'open', 'in_use', 'waiting', 'created'), "\n";

// While one resource is in use, it serves a waiting user, although no other can be opened.
$up = false;
[$one, $other] = [$pool->acquire(), $pool->acquire()];
$waiting = go(fn () => $pool->with(fn (Thing $thing) => "served with thing $thing->number"));
until(fn () => $pool->metrics()['waiting'] === 1);
$pool->discard($other);
echo thrown(fn () => $waiting->await()), "\n";
$waiting = go(fn () => thrown(fn () => $pool->with(fn () => null)));
$later = go(fn () => thrown(fn () => $pool->with(fn (Thing $thing) => "served with thing $thing->number")));
echo $waiting->await(), "\n";
$pool->release($one);
echo $later->await(), "\n";
$up = true;
$last = [go(fn () => $pool->with(fn () => 'ok')), go(fn () => $pool->with(fn () => 'ok'))];
echo $last[0]->await(), ' ', $last[1]->await(), "\n";
echo numbers($pool, 'open', 'in_use', 'waiting', 'connecting'), "\n";

__halt_compiler();
10 x RuntimeException: connection refused
open 0, in_use 0, connecting 0, waiting 0, failures 2
1 2 3 4 5 6 7 8 9 10
open 2, in_use 0, waiting 0, created 2
RuntimeException: connection refused
RuntimeException: connection refused
returned "served with thing 2"
ok ok
open 1, in_use 0, waiting 0, connecting 0
