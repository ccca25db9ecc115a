<?php

/* One resource and five users: they get it in the order in which they asked, handed from one to the next. */

declare(strict_types=1);

use Weft\Pool;

use function Weft\go;

require getenv('POOLS') . '/support.php';

$pool = new Pool(fn () => new Thing(), max: 1);
$tasks = [];
foreach (range(1, 5) as $number) {
    $tasks[] = go(static fn () => $pool->with(static function (Thing $thing) use ($number): void {
        usleep(1000);
        echo "$number has thing $thing->number\n";
    }));
}
foreach ($tasks as $task) {
    $task->await();
}
echo numbers($pool, 'open', 'idle', 'in_use', 'waiting', 'waits', 'timeouts', 'created'), "\n";
echo $pool->metrics()['wait_seconds_max'] > 0 ? "waiting took time\n" : "waiting took no time\n";

__halt_compiler();
1 has thing 1
2 has thing 1
3 has thing 1
4 has thing 1
5 has thing 1
open 1, idle 1, in_use 0, waiting 0, waits 4, timeouts 0, created 1
waiting took time
