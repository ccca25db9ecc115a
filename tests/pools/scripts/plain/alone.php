<?php

/* Outside of coroutines nothing can wait: the pool serves one user at a time and reports when that is not enough. */

declare(strict_types=1);

use Weft\Pool;
use Weft\Pool\CallableConnector;

require getenv('POOLS') . '/support.php';

if (class_exists(Weft\Coroutine::class, false)) {
    echo "max and min\n"; // a script of weft is a coroutine: it would wait where stock php gets a refusal
} else {
    $pool = new Pool(fn () => new Thing(), max: 1, name: 'things');
    $thing = $pool->acquire();
    $refusal = thrown(fn () => $pool->acquire());
    echo str_contains($refusal, 'outside a coroutine nobody else can return one') ? "max and min\n" : $refusal;
    Thing::$made = 0;
}

echo thrown(fn () => new Pool(fn () => new Thing(), max: 0)), "\n";
echo thrown(fn () => new Pool(fn () => new Thing(), max: 2, min: 3)), "\n";

$pool = new Pool(fn () => new Thing(), max: 3, min: 2, idleTimeout: 0.0);
$pool->warm();
echo 'warm: ', numbers($pool, 'open', 'idle'), "\n";
$three = [$pool->acquire(), $pool->acquire(), $pool->acquire()];
array_map($pool->release(...), $three);
echo 'idle ones above min are closed: ', numbers($pool, 'open', 'idle', 'in_use'), "\n";

$old = new Pool(fn () => new Thing(), max: 1, ageMax: 0.0);
echo 'too old: ', $old->with(fn ($thing) => $thing->number), ' ', $old->with(fn ($thing) => $thing->number), ', ', numbers($old, 'open', 'discarded'), "\n";

$connector = new CallableConnector(
    fn () => new Thing(),
    check: fn (Thing $thing) => $thing->works,
    reset: fn (Thing $thing) => $thing->number % 2 === 1,
);
Thing::$made = 10;
$pool = new Pool($connector, max: 1);
$number = fn (Thing $thing) => $thing->number;
$first = $pool->with($number);
echo 'reset says yes: ', $pool->with($number) - $first, "\n";
echo thrown(fn () => $pool->with(fn () => throw new DomainException('mine'))), "\n";
echo 'kept after an exception, as the check says it works: ', $pool->with($number) - $first, "\n";
thrown(fn () => $pool->with(static function (Thing $thing): never {
    $thing->works = false;
    throw new DomainException('mine');
}));
echo 'replaced after one that broke it: ', $pool->with($number) - $first, "\n";
echo 'reset says no: ', $pool->with($number) - $first, "\n";

__halt_compiler();
max and min
ValueError: Pool pool: 0 <= min <= max and max >= 1 are needed, not min 0 and max 0
ValueError: Pool pool: 0 <= min <= max and max >= 1 are needed, not min 3 and max 2
warm: open 2, idle 2
idle ones above min are closed: open 2, idle 2, in_use 0
too old: 4 5, open 0, discarded 2
reset says yes: 0
DomainException: mine
kept after an exception, as the check says it works: 0
replaced after one that broke it: 1
reset says no: 2
