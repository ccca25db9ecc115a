<?php

/* A query that was cut short: its connection is closed, and no other caller gets its rows. */

declare(strict_types=1);

use function Weft\go;
use function Weft\timeout;

require getenv('POOLS') . '/support.php';

$db = shared(max: 2, waitTimeout: 20);
table($db, 'interrupted', 3);
$slow = fn () => $db->query('SELECT 999, SLEEP(30)')->fetchColumn();
$quick = static function () use ($db): int {
    $statement = $db->prepare('SELECT id FROM interrupted WHERE id = ?');
    $statement->execute([2]);

    return $statement->fetchColumn();
};

$tasks = [go($slow), go($slow)];
until(fn () => $db->metrics()['in_use'] === 2);
$behind = array_map(fn () => go($quick), range(1, 20));
until(fn () => $db->metrics()['waiting'] === 20);
array_walk($tasks, fn ($task) => $task->cancel());
echo json_encode(array_count_values(array_map(fn ($task) => $task->await(), $behind))), "\n";
foreach ($tasks as $task) {
    echo thrown(fn () => $task->await()), "\n";
}
echo numbers($db->pool, 'in_use', 'waiting', 'discarded'), "\n";

echo thrown(fn () => timeout(0.02, $slow)), ', then ', $quick(), "\n";
$prepared = $db->prepare('SELECT ?, SLEEP(?)');
echo thrown(fn () => timeout(0.02, fn () => $prepared->execute([998, 30]))), ', then ', $quick(), "\n";
echo thrown(fn () => timeout(0.02, fn () => $db->exec('DO SLEEP(30)'))), ', then ', $quick(), "\n";

// Inside a transaction: the changes are rolled back, and further statements are refused until its end.
echo thrown(static function () use ($db): void {
    $db->beginTransaction();
    $db->exec("INSERT INTO interrupted (id, name) VALUES (50, 'lost')");
    echo thrown(fn () => timeout(0.02, fn () => $db->query('SELECT SLEEP(30)'))), "\n";
    echo $db->inTransaction() ? "still to be ended\n" : "forgotten\n";
    $db->exec("INSERT INTO interrupted (id, name) VALUES (51, 'never')");
}), "\n";
var_dump($db->rollBack(), $db->inTransaction());
echo $db->query('SELECT COUNT(*) FROM interrupted')->fetchColumn(), " rows\n";
echo numbers($db->pool, 'in_use', 'waiting', 'discarded'), "\n";

__halt_compiler();
{"2":20}
Weft\CancelledError: The task was cancelled
Weft\CancelledError: The task was cancelled
in_use 0, waiting 0, discarded 2
Weft\TimeoutException: Not done within 0.02 seconds, then 2
Weft\TimeoutException: Not done within 0.02 seconds, then 2
Weft\TimeoutException: Not done within 0.02 seconds, then 2
Weft\TimeoutException: Not done within 0.02 seconds
still to be ended
PDOException: The connection was lost inside this transaction, so the server has rolled it back: call rollBack(), then begin again
bool(true)
bool(false)
3 rows
in_use 0, waiting 0, discarded 6
