<?php

/* More coroutines than connections: each gets its own rows, connections go round, and who waits in vain leaves nothing behind. */

declare(strict_types=1);

use Weft\Channel;

use function Weft\go;

require getenv('POOLS') . '/support.php';

$db = shared(max: 2);
table($db, 'contended', 50);

/** Reads rows in several ways, some in transactions, some with pauses; returns how many were its own. */
$read = static function (int $number) use ($db): int {
    $own = 0;
    $byId = $db->prepare('SELECT id, name FROM contended WHERE id = ?');
    for ($round = 0; $round < 20; ++$round) {
        $id = 1 + (($number + $round) % 50);
        $inTransaction = $round % 7 === 6 && $db->beginTransaction();
        $byId->execute([$id]);
        $own += (int) ($byId->fetch() == ['id' => $id, 'name' => "row $id", 0 => $id, 1 => "row $id"]);
        $none = $db->prepare('SELECT id FROM contended WHERE id = ? AND name = ?');
        $none->execute([$id, 'nothing']);
        $own += (int) ($none->fetchAll() === []);
        if ($inTransaction) {
            $db->commit();
        }
        if ($round % 5 === $number % 5) {
            usleep(500);
        }
    }

    return $own;
};
$tasks = array_map(fn (int $number) => go(fn () => $read($number)), range(0, 39));
echo array_sum(array_map(fn ($task) => $task->await(), $tasks)), ' of ', 40 * 20 * 2, " results, ", numbers($db->pool, 'open', 'in_use', 'waiting'), "\n";

// One that has read its result and waits for something else hands its connection on.
$db = shared(max: 1, waitTimeout: 20);
$name = static function (int $id) use ($db): string {
    $byId = $db->prepare('SELECT name FROM contended WHERE id = ?');
    $byId->execute([$id]);

    return $byId->fetchColumn();
};
$name(1);
$name(1);
$done = new Channel();
$idle = go(static fn (): string => $name(2) . ', then ' . $done->receive());
$others = array_map(fn (int $id) => go(fn (): string => $name($id)), [3, 4, 5]);
$names = implode(', ', array_map(fn ($task) => $task->await(), $others));
$done->send('done');
echo "$names; ", $idle->await(), "\n";

// Who waits too long, or is interrupted, gets an error; the connection is the next one's.
$db = shared(max: 1, waitTimeout: 0.05);
$byId = $db->prepare('SELECT name FROM contended WHERE id = ?');
$byId->execute([6]);
$byId->fetchColumn();
$holder = go(static function () use ($db, $done): bool {
    $db->beginTransaction();
    $done->receive();

    return $db->commit();
});
$late = $db->prepare('SELECT name FROM contended WHERE id = ?');
echo go(static fn (): string => thrown(fn () => $late->execute([6])))->await(), "\n";
$cut = $db->prepare('SELECT name FROM contended WHERE id = ?');
echo go(static fn (): string => thrown(fn () => Weft\timeout(0.01, fn () => $cut->execute([6]))))->await(), "\n";
$done->send('done');
$holder->await();
echo json_encode([$late->execute([7]), $late->fetchColumn(), $cut->execute([8]), $cut->fetchColumn()]), ' ', numbers($db->pool, 'in_use', 'waiting'), "\n";

__halt_compiler();
1600 of 1600 results, open 2, in_use 0, waiting 0
row 3, row 4, row 5; row 2, then done
Weft\Pool\PoolTimeout: Pool mysql: none of 1 became free in 0.05 s, and 0 more coroutines wait. Hold them for a shorter time, or raise max
Weft\TimeoutException: Not done within 0.01 seconds
[true,"row 7",true,"row 8"] in_use 0, waiting 0
