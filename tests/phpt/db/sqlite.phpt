--TEST--
SQLite through PDO: prepared statements, transactions, callbacks that wait, errors
--INI--
error_reporting=E_ALL & ~E_DEPRECATED
--FILE--
<?php
$db = new PDO('sqlite:' . __DIR__ . '/t.db', options: [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
$db->exec('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE)');
$insert = $db->prepare('INSERT INTO t (name) VALUES (:name)');
$db->beginTransaction();
foreach (['b', 'a', 'c'] as $name) { $insert->execute(['name' => $name]); }
$db->commit();
echo json_encode($db->query('SELECT * FROM t ORDER BY name')->fetchAll()), "\n";
$db->beginTransaction();
$db->exec('DELETE FROM t');
$db->rollBack();
echo $db->query('SELECT count(*) FROM t')->fetchColumn(), ' ', $db->lastInsertId(), "\n";
try {
    $insert->execute(['name' => 'a']);
} catch (PDOException $e) {
    echo $e->getCode(), ' ', $e->errorInfo[2], "\n";
}
$db->sqliteCreateFunction('slow_upper', function ($x) { usleep(100); return strtoupper($x); });
$db->sqliteCreateAggregate('glue', fn ($c, $n, $v) => $c . $v, function ($c) { usleep(10); return "<$c>"; });
echo $db->query('SELECT slow_upper(name) FROM t WHERE id = 1')->fetchColumn(), $db->query('SELECT glue(name) FROM t')->fetchColumn(), "\n";
--EXPECT--
[{"id":2,"name":"a"},{"id":1,"name":"b"},{"id":3,"name":"c"}]
3 3
23000 UNIQUE constraint failed: t.name
B<bac>
