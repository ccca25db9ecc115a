<?php

/* Transactions, last ids and errors belong to the coroutine. */

declare(strict_types=1);

use Weft\Channel;

use function Weft\go;

require getenv('POOLS') . '/support.php';

$db = shared(max: 4);
table($db, 'apart', 0);
$step = new Channel();

$writer = go(static function () use ($db, $step): string {
    $db->beginTransaction();
    $db->exec("INSERT INTO apart (id, name) VALUES (10, 'uncommitted')");
    $step->send('inserted');
    $step->receive(); // main has checked
    $in = $db->inTransaction() ? 'in' : 'not in';
    $seen = $db->query('SELECT COUNT(*) FROM apart WHERE id = 10')->fetchColumn();
    $id = $db->lastInsertId();
    $db->commit();

    return "writer: $in a transaction, sees $seen, last id $id";
});
$step->receive();
$in = $db->inTransaction() ? 'in' : 'not in';
echo "main: $in a transaction, sees ", $db->query('SELECT COUNT(*) FROM apart')->fetchColumn(), "\n";
echo thrown(fn () => $db->commit()), "\n";
$db->exec("INSERT INTO apart (id, name) VALUES (20, 'main')");
$step->send('looked');
echo $writer->await(), "\n";
echo 'main: last id ', $db->lastInsertId(), ', sees ', $db->query('SELECT COUNT(*) FROM apart')->fetchColumn(), "\n";

$failing = go(static fn () => [thrown(fn () => $db->query('SELECT nothing')), $step->send('failed'), $step->receive(), $db->errorCode()]);
$step->receive();
$db->query('SELECT 1');
$step->send('succeeded');
echo 'main: ', $db->errorCode(), ', task: ', $failing->await()[3], "\n";

// Each transaction reads, waits, and writes the value plus one: with locking reads no update is lost.
$db->exec("INSERT INTO apart (id, name) VALUES (1, '0')");
$tasks = array_map(fn () => go(static function () use ($db): void {
    $db->beginTransaction();
    $count = $db->query('SELECT name FROM apart WHERE id = 1 FOR UPDATE')->fetchColumn();
    usleep(100);
    $db->prepare('UPDATE apart SET name = ? WHERE id = 1')->execute([$count + 1]);
    $db->commit();
}), range(1, 50));
array_walk($tasks, fn ($task) => $task->await());
echo 'counted to ', $db->query('SELECT name FROM apart WHERE id = 1')->fetchColumn(), "\n";

// A coroutine that ends inside a transaction does not commit it.
go(static function () use ($db): void {
    $db->beginTransaction();
    $db->exec("INSERT INTO apart (id, name) VALUES (30, 'forgotten')");
})->await();
$throws = go(static function () use ($db): void {
    $db->beginTransaction();
    $db->exec("INSERT INTO apart (id, name) VALUES (31, 'thrown')");
    throw new Exception('in a transaction');
});
echo thrown(fn () => $throws->await()), "\n";
echo 'forgotten: ', $db->query('SELECT COUNT(*) FROM apart WHERE id >= 30')->fetchColumn(), "\n";
echo numbers($db->pool, 'in_use', 'waiting', 'discarded'), "\n";

__halt_compiler();
main: not in a transaction, sees 0
PDOException: There is no active transaction
writer: in a transaction, sees 1, last id 10
main: last id 20, sees 2
main: 00000, task: 42S22
counted to 50
Exception: in a transaction
forgotten: 0
in_use 0, waiting 0, discarded 0
