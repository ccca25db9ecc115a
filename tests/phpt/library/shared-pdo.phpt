--TEST--
A shared PDO is used as a PDO is: statements, settings, transactions, errors
--LIBRARY--
--FILE--
<?php
use Weft\Database\SharedPdo;

$db = new SharedPdo('sqlite::memory:', options: [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC], max: 1);
var_dump($db instanceof PDO, $db->errorCode(), $db->exec('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE)'));
$insert = $db->prepare('INSERT INTO t (name) VALUES (:name)');
foreach (['a', 'b', 'c'] as $name) {
    $insert->bindValue(':name', $name);
    $insert->execute();
}
echo $db->lastInsertId(), ' ', $insert->rowCount(), ' ', $insert->queryString, "\n";
$insert->debugDumpParams();

$query = $db->prepare('SELECT * FROM t WHERE id > ? ORDER BY id');
$query->execute([1]);
echo json_encode([$query->columnCount(), $query->getColumnMeta(0)['name'], $query->fetch(), $query->fetch(PDO::FETCH_NUM), $query->fetch()]), "\n";
$query->setFetchMode(PDO::FETCH_COLUMN, 1);
$query->execute([0]);
echo json_encode($query->fetchAll()), "\n";
$other = $db->prepare('SELECT * FROM t WHERE id > ? ORDER BY id'); // the same real statement, without the other's mode
$other->execute([2]);
echo json_encode($other->fetchAll()), "\n";
$other->bindColumn('name', $bound);
$other->execute([0]);
$other->fetch(PDO::FETCH_BOUND);
echo $bound, ' ', json_encode($other->closeCursor()), "\n";
echo json_encode(iterator_to_array($db->query('SELECT name FROM t', PDO::FETCH_COLUMN, 0))), "\n";
echo json_encode($db->query('SELECT 7 AS seven')->fetchObject()), ' ', $db->query('SELECT 8')->fetchColumn(), "\n";

try {
    $insert->execute(['name' => 'a']);
} catch (PDOException $failure) {
    echo $failure->getCode(), ' ', $insert->errorCode(), ' ', $db->errorInfo()[0], "\n";
}
$db->beginTransaction();
$db->exec('DELETE FROM t');
var_dump($db->inTransaction(), $db->rollBack(), $db->inTransaction(), $db->query('SELECT COUNT(*) FROM t')->fetchColumn());
foreach ([$db->commit(...), fn () => $db->setAttribute(PDO::ATTR_PERSISTENT, true)] as $wrong) {
    try {
        $wrong();
    } catch (PDOException $failure) {
        echo $failure->getMessage(), "\n";
    }
}
echo $db->quote("it's"), ' ', $db->getAttribute(PDO::ATTR_DRIVER_NAME), ' ', json_encode($db->setAttribute(PDO::ATTR_CASE, PDO::CASE_UPPER)), ' ';
echo json_encode($db->query('SELECT id FROM t LIMIT 1')->fetch()), ' ', $db->hold(fn (PDO $pdo) => get_class($pdo)), ' ';
echo $db->metrics()['in_use'], "\n";
--EXPECT--
bool(true)
NULL
int(0)
3 1 INSERT INTO t (name) VALUES (:name)
SQL: [35] INSERT INTO t (name) VALUES (:name)
Params:  1
[2,"id",{"id":2,"name":"b"},[3,"c"],false]
["a","b","c"]
[{"id":3,"name":"c"}]
a true
["a","b","c"]
{"seven":7} 8
23000 23000 23000
bool(true)
bool(true)
bool(false)
int(3)
There is no active transaction
SharedPdo has statements and connections of its own: this attribute cannot be set
'it''s' sqlite true {"ID":1} PDO 0
