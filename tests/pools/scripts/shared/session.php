<?php

/* A coroutine that changes the session keeps its connection, which is then closed; cached statements are limited. */

declare(strict_types=1);

use function Weft\go;

require getenv('POOLS') . '/support.php';

$db = shared(max: 2);
table($db, 'session', 3);
$variable = fn () => $db->query('SELECT @mine')->fetchColumn();

echo go(static function () use ($db, $variable): string {
    $db->exec('SET @mine = 42');
    $me = $db->query('SELECT CONNECTION_ID()')->fetchColumn();
    usleep(1000);
    $same = $db->query('SELECT CONNECTION_ID()')->fetchColumn() === $me ? 'the same' : 'another';

    return "$same connection, its variable is " . $variable();
})->await(), "\n";
echo 'others see ', json_encode([$variable(), $variable()]), '; ', numbers($db->pool, 'in_use', 'discarded'), "\n";

go(static function () use ($db): void {
    $db->exec('CREATE TEMPORARY TABLE mine (id INT)');
    $db->exec('INSERT INTO mine VALUES (1)');
    echo 'temporary table: ', $db->query('SELECT COUNT(*) FROM mine')->fetchColumn(), " row\n";
})->await();
echo str_contains(thrown(fn () => $db->query('SELECT * FROM mine')), "doesn't exist") ? "gone with its coroutine\n" : "left behind\n";

go(static function () use ($db): void {
    $statement = $db->prepare('SET SESSION max_statement_time = ?');
    $statement->bindValue(1, 7, PDO::PARAM_INT);
    $statement->execute();
    echo 'set by a prepared statement: ', (int) $db->query('SELECT @@max_statement_time')->fetchColumn(), "\n";
})->await();
echo 'others see ', (int) $db->query('SELECT @@max_statement_time')->fetchColumn(), "\n";

// hold(): the real PDO, with one connection for everything inside.
echo $db->hold(static function (PDO $real) use ($db): string {
    $me = $real->query('SELECT CONNECTION_ID()')->fetchColumn();

    return $me === $db->query('SELECT CONNECTION_ID()')->fetchColumn() ? "held\n" : "not held\n";
});

// Results that are not read to their end keep the connection; reading, closing or dropping them releases it.
foreach (['read', 'close', 'forget', 'again'] as $end) {
    $statement = $db->prepare('SELECT id FROM session');
    $statement->execute();
    $statement->fetch();
    echo $end, ': ', numbers($db->pool, 'in_use'), ', then ';
    match ($end) {
        'read' => [$statement->fetch(), $statement->fetch()],
        'close' => $statement->closeCursor(),
        'forget' => $statement = null,
        'again' => [$statement->execute(), $statement->fetchAll()],
    };
    echo numbers($db->pool, 'in_use'), "\n";
}

$few = new Weft\Database\SharedPdo(dsn(), 'root', '', [PDO::ATTR_EMULATE_PREPARES => false], statementsMax: 3, max: 1);
foreach (range(1, 20) as $number) {
    $statement = $few->prepare("SELECT $number + ?");
    $statement->execute([1]);
    (int) $statement->fetchColumn() === $number + 1 || throw new Exception('wrong');
}
// Counts of this connection only, because other tests use the server, too. The query itself is prepared and
// open.
$status = $few->hold(static fn (PDO $real) => $real->query("SHOW SESSION STATUS LIKE 'Com_stmt_%'")->fetchAll(PDO::FETCH_KEY_PAIR));
echo $status['Com_stmt_prepare'] - $status['Com_stmt_close'] - 1, " statements were kept\n";

__halt_compiler();
the same connection, its variable is 42
others see [null,null]; in_use 0, discarded 1
temporary table: 1 row
gone with its coroutine
set by a prepared statement: 7
others see 0
held
read: in_use 1, then in_use 0
close: in_use 1, then in_use 0
forget: in_use 1, then in_use 0
again: in_use 1, then in_use 0
3 statements were kept
