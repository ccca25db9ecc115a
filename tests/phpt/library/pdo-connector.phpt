--TEST--
A PDO connector opens with its statements, checks, rolls back, and tells a lost connection from a refused statement
--LIBRARY--
--FILE--
<?php
use Weft\Database\PdoConnector;

function failure(string $state, int $code): PDOException
{
    $failure = new PDOException('message');
    $failure->errorInfo = [$state, $code, 'message'];

    return $failure;
}

$connector = new PdoConnector('sqlite::memory:', initial: ['CREATE TABLE t (id INTEGER)', 'INSERT INTO t VALUES (1)']);
$pdo = $connector->connect();
$count = fn (): int => (int) $pdo->query('SELECT COUNT(*) FROM t')->fetchColumn();
var_dump($count(), $connector->healthy($pdo), $connector->reset($pdo));
$pdo->beginTransaction();
$pdo->exec('INSERT INTO t VALUES (2)');
var_dump($connector->reset($pdo), $pdo->inTransaction(), $count());
$cases = [
    'refused' => failure('23000', 1062), 'gone' => failure('HY000', 2006), 'lost' => failure('08006', 7),
    'ended' => failure('57P01', 7), 'the application\'s' => new DomainException(), 'an error' => new TypeError(),
];
foreach ($cases as $name => $failure) {
    echo $name, ' ', json_encode($connector->broken($pdo, $failure)), "\n";
}
$connector->close($pdo);
try {
    new PdoConnector('sqlite::memory:', options: [PDO::ATTR_PERSISTENT => true]);
} catch (ValueError $error) {
    echo $error->getMessage(), "\n";
}
try {
    (new PdoConnector('sqlite:/nowhere/at/all'))->connect();
} catch (PDOException $failure) {
    echo get_class($failure), "\n";
}
--EXPECT--
int(1)
bool(true)
bool(true)
bool(true)
bool(false)
int(1)
refused false
gone true
lost true
ended true
the application's false
an error true
ATTR_PERSISTENT and a pool exclude each other: the pool keeps connections open by itself
PDOException
