<?php

/* 200 coroutines on 8 connections: each gets its own rows, and statements are prepared once per connection. */

declare(strict_types=1);

use function Weft\go;

require getenv('POOLS') . '/support.php';

$db = shared(max: 8);
table($db, 'many', 200);
$tasks = [];
foreach (range(1, 200) as $id) {
    $tasks[] = go(static function () use ($db, $id): void {
        foreach ([$id, 201 - $id] as $wanted) {
            $statement = $db->prepare('SELECT id, name, CONNECTION_ID() AS me FROM many WHERE id = ?');
            $statement->execute([$wanted]);
            $row = $statement->fetch(PDO::FETCH_ASSOC);
            $row['id'] === $wanted && $row['name'] === "row $wanted" || throw new Exception("row $row[id] for $wanted");
        }
        $five = $db->prepare('SELECT id FROM many ORDER BY id LIMIT 5');
        $five->execute();
        $five->fetchAll(PDO::FETCH_COLUMN) === [1, 2, 3, 4, 5] || throw new Exception('not five');
    });
}
foreach ($tasks as $task) {
    $task->await();
}
echo numbers($db->pool, 'open', 'idle', 'in_use', 'waiting', 'timeouts', 'discarded'), "\n";

$prepared = [];
$here = 0;
foreach (range(1, 8) as $number) {
    $prepared[] = go(static function () use ($db, &$here): int {
        $db->beginTransaction();
        ++$here;
        until(static function () use (&$here): bool { // so that each of them has another connection
            return $here === 8;
        });
        $count = $db->query("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'")->fetch()['Value'];
        $db->rollBack();

        return (int) $count;
    });
}
$counts = array_map(fn ($task) => $task->await(), $prepared);
// Two texts were prepared; the query for the count adds one per connection.
echo max($counts) <= 3 ? "two statements per connection\n" : json_encode($counts) . "\n";

__halt_compiler();
open 8, idle 8, in_use 0, waiting 0, timeouts 0, discarded 0
two statements per connection
