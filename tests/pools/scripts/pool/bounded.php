<?php

/* 200 coroutines on 8 resources: never more than 8 are open or in use, each user has its own, and all users
 * are served. */

declare(strict_types=1);

use Weft\Pool;

use function Weft\go;

require getenv('POOLS') . '/support.php';

$pool = new Pool(fn () => new Thing(), max: 8);
$using = [];
$most = $served = 0;
$tasks = [];
foreach (range(1, 200) as $number) {
    $tasks[] = go(static function () use ($pool, $number, &$using, &$most, &$served): void {
        for ($round = 0; $round < 3; ++$round) {
            $thing = $pool->acquire();
            isset($using[$thing->number]) && throw new Exception('it is used twice');
            $using[$thing->number] = true;
            $most = max($most, count($using));
            usleep(random_int(1, 300));
            unset($using[$thing->number]);
            $pool->release($thing);
            ++$served;
        }
    });
}
foreach ($tasks as $task) {
    $task->await();
}
echo "at most $most at once, $served served, ", Thing::$made, " made\n";
echo numbers($pool, 'open', 'idle', 'in_use', 'waiting', 'timeouts'), "\n";

__halt_compiler();
at most 8 at once, 600 served, 8 made
open 8, idle 8, in_use 0, waiting 0, timeouts 0
