<?php

/* A statement that is kept per connection while its table changes. PostgreSQL refuses it: it is prepared again, unless a transaction is open. */

declare(strict_types=1);

use Weft\Database\SharedPdo;

require __DIR__ . '/../../support.php';

$db = new SharedPdo('pgsql:host=127.0.0.1;dbname=weft;user=weft;port=' . getenv('POSTGRES_PORT'), max: 1);
$db->exec('CREATE TABLE changing (id INT, v TEXT)');
$db->exec("INSERT INTO changing VALUES (1, 'a')");
$read = static function () use ($db): string {
    $statement = $db->prepare('SELECT * FROM changing WHERE id = ?');
    try {
        $statement->execute([1]);

        return json_encode($statement->fetchAll(PDO::FETCH_ASSOC));
    } catch (PDOException $failure) {
        return $failure->getCode();
    }
};
echo $read(), $read(), "\n";
$db->exec('ALTER TABLE changing ADD w INT');
echo $read(), $read(), "\n";
$db->exec('ALTER TABLE changing RENAME v TO x');
echo $read(), "\n";
$db->exec('ALTER TABLE changing DROP w');
$db->beginTransaction();
echo $read(), "\n";
$db->rollBack();
echo $read(), ' ', numbers($db->pool, 'created'), "\n";

__halt_compiler();
[{"id":1,"v":"a"}][{"id":1,"v":"a"}]
[{"id":1,"v":"a","w":null}][{"id":1,"v":"a","w":null}]
[{"id":1,"x":"a","w":null}]
0A000
[{"id":1,"x":"a"}] created 1
