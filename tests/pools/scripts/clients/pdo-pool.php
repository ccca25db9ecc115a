<?php

/* PdoPool: plain connections, which are rolled back when they are returned. */

declare(strict_types=1);

use Weft\Database\PdoPool;

use function Weft\go;

require getenv('POOLS') . '/support.php';

$pool = new PdoPool(dsn(), 'root', '', initial: ['SET @greeting = "hello"'], max: 4);
$pool->with(fn (PDO $pdo) => table($pdo, 'pdo_pool', 3));
$tasks = array_map(fn ($id) => go(fn () => $pool->with(static function (PDO $pdo) use ($id): string {
    $statement = $pdo->prepare('SELECT @greeting, name FROM pdo_pool WHERE id = ?');
    $statement->execute([$id % 3 + 1]);

    return implode(' ', $statement->fetch(PDO::FETCH_NUM));
})), range(0, 19));
echo json_encode(array_count_values(array_map(fn ($task) => $task->await(), $tasks))), "\n";

echo $pool->transaction(static function (PDO $pdo): string {
    $pdo->exec("INSERT INTO pdo_pool (name) VALUES ('committed')");

    return 'committed';
}), "\n";
echo thrown(fn () => $pool->transaction(static function (PDO $pdo): never {
    $pdo->exec("INSERT INTO pdo_pool (name) VALUES ('undone')");
    throw new DomainException('no');
})), "\n";
$pdo = $pool->acquire();
$pdo->beginTransaction();
$pdo->exec("INSERT INTO pdo_pool (name) VALUES ('left open')");
$pool->release($pdo);
echo $pool->with(fn (PDO $pdo) => $pdo->query('SELECT COUNT(*) FROM pdo_pool')->fetchColumn()), " rows\n";

// A wrong statement is not a reason to close a connection; a killed connection is.
echo substr(thrown(fn () => $pool->with(fn (PDO $pdo) => $pdo->query('SELECT nothing'))), 0, 30), ': ', numbers($pool->pool, 'discarded'), "\n";
$killed = thrown(fn () => $pool->with(function (PDO $pdo): void {
    $id = $pdo->query('SELECT CONNECTION_ID()')->fetchColumn();
    $other = new PDO(dsn(), 'root', '');
    $other->exec("KILL $id");
    until(fn () => $other->query("SELECT COUNT(*) FROM information_schema.processlist WHERE id = $id")->fetchColumn() == 0);
    $pdo->query('SELECT 1');
}));
echo substr($killed, 0, 30), ': ', numbers($pool->pool, 'discarded', 'in_use'), "\n";
echo thrown(fn () => new PdoPool(dsn(), options: [PDO::ATTR_PERSISTENT => true])), "\n";

__halt_compiler();
{"hello row 1":7,"hello row 2":7,"hello row 3":6}
committed
DomainException: no
4 rows
PDOException: SQLSTATE[42S22]:: discarded 0
PDOException: SQLSTATE[HY000]:: discarded 1, in_use 0
ValueError: ATTR_PERSISTENT and a pool exclude each other: the pool keeps connections open by itself
