--TEST--
A locked SQLite database is waited for as long as the timeout says
--FILE--
<?php
$path = 'sqlite:' . __DIR__ . '/busy.db';
$a = new PDO($path);
$a->exec('CREATE TABLE t (x)');
$a->exec('BEGIN EXCLUSIVE');
$b = new PDO($path, options: [PDO::ATTR_TIMEOUT => 1]);
$start = hrtime(true);
try {
    $b->exec('INSERT INTO t VALUES (1)');
} catch (PDOException $e) {
    echo $e->getMessage(), "\n";
}
echo hrtime(true) - $start > 5e8 ? 'waited' : 'did not wait', "\n";
$a->exec('COMMIT');
var_dump($b->exec('INSERT INTO t VALUES (1)'));
--EXPECT--
SQLSTATE[HY000]: General error: 5 database is locked
waited
int(1)
