<?php

/* The server has closed a connection: reads are tried again, and statements that may have taken effect are
 * not. */

declare(strict_types=1);

require getenv('POOLS') . '/support.php';

$db = shared(max: 1);
$admin = new PDO(dsn(), 'root', '');
table($db, 'gone', 3);
$kill = static function () use ($db, $admin): void {
    $id = $db->query('SELECT CONNECTION_ID()')->fetchColumn();
    $admin->exec("KILL $id");
    $count = $admin->prepare('SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?');
    until(fn () => $count->execute([$id]) && $count->fetchColumn() === 0);
};
$select = $db->prepare('SELECT name FROM gone WHERE id = ?');

$select->execute([1]);
echo $select->fetchColumn(), "\n";
$kill();
$select->execute([2]);
echo 'prepared, tried again: ', $select->fetchColumn(), "\n";
$kill();
echo 'queried, tried again: ', $db->query('SELECT COUNT(*) FROM gone')->fetchColumn(), "\n";
$kill();
$gone = thrown(fn () => $db->exec("INSERT INTO gone (name) VALUES ('x')"));
echo preg_match('/^PDOException: .*(1927|2006|2013)/', $gone) ? "an insert is not\n" : "$gone\n";
echo 'but the next finds a new connection: ', $db->exec("INSERT INTO gone (name) VALUES ('y')"), "\n";
$kill();
var_dump($db->beginTransaction());
$db->exec("INSERT INTO gone (name) VALUES ('z')");
$kill();
echo preg_match('/^PDOException: .*(1927|2006|2013)/', $gone = thrown(fn () => $select->execute([1]))) ? "not in a transaction\n" : "$gone\n";
echo thrown(fn () => $select->execute([1])), "\n", thrown(fn () => $db->commit()), "\n";
var_dump($db->rollBack());
echo $db->query('SELECT COUNT(*) FROM gone')->fetchColumn(), " rows\n";
echo numbers($db->pool, 'open', 'idle', 'discarded'), "\n";

__halt_compiler();
row 1
prepared, tried again: row 2
queried, tried again: 3
an insert is not
but the next finds a new connection: 1
bool(true)
not in a transaction
PDOException: The connection was lost inside this transaction, so the server has rolled it back: call rollBack(), then begin again
PDOException: The connection was lost inside this transaction, so the server has rolled it back: call rollBack(), then begin again
bool(true)
4 rows
open 1, idle 1, discarded 5
