<?php

/* A PdoPool with statementsMax: the next lease gets the statement that the last one has prepared, and nothing of what was bound, set or
 * left unread. The server says how many it has prepared. */

declare(strict_types=1);

use Weft\Database\MysqliPool;
use Weft\Database\PdoPool;

require __DIR__ . '/../../support.php';

$options = [PDO::ATTR_EMULATE_PREPARES => false, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_NUM];
$postgres = 'pgsql:host=127.0.0.1;dbname=weft;user=weft;port=' . getenv('POSTGRES_PORT');
$prepared = [
    'MariaDB' => static fn (PDO $pdo) => $pdo->query("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'")->fetch()[1],
    'PostgreSQL' => static fn (PDO $pdo) => $pdo->query('SELECT COUNT(*) FROM pg_prepared_statements')->fetch()[0],
];
foreach (['MariaDB' => [dsn(), 'root'], 'PostgreSQL' => [$postgres, null]] as $name => [$dsn, $user]) {
    echo "$name\n";
    $none = new PdoPool($dsn, $user, '', $options, max: 1);
    echo $none->with(static fn (PDO $pdo) => $pdo::class), ', ';
    $pool = new PdoPool($dsn, $user, '', $options, statementsMax: 2, max: 1);
    $count = static fn (): int => (int) $pool->with($prepared[$name]);
    $ask = static fn (string $sql, ?array $parameters, ?Closure $set = null) => $pool->with(static function (PDO $pdo) use ($sql, $parameters, $set) {
        $statement = $pdo->prepare($sql);
        $set?->__invoke($statement);
        $statement->execute($parameters);

        return $statement->fetch()[0];
    });
    $pool->with(static function (PDO $pdo): void {
        $pdo->exec('DROP TABLE IF EXISTS kept');
        $pdo->exec('CREATE TABLE kept (id INT, v VARCHAR(20))');
        $pdo->exec("INSERT INTO kept VALUES (1, 'a'), (2, 'b')");
        echo $pdo instanceof PDO ? "a PDO\n" : "?\n";
    });
    $sql = 'SELECT id FROM kept WHERE id >= ? ORDER BY id';
    $ask($sql, [1]);
    $before = $count();
    echo $ask($sql, [1]), $ask($sql, [2]), $ask($sql, null, static fn ($statement) => $statement->bindValue(1, 2)), ' with ';
    echo $count() - $before - (int) ($name === 'MariaDB'), " more prepared\n"; // there the question is one itself
    echo 'nothing bound: ', substr(thrown(static fn () => $ask($sql, null)), 0, 30), "\n";

    echo 'a column that was bound: ';
    $other = 0;
    $ask($sql, [2], static function ($statement) use (&$other): void { $statement->bindColumn(1, $other); });
    $other = 'untouched';
    echo $ask($sql, [1]), " $other\n";

    echo 'two at once: ';
    echo $pool->with(static function (PDO $pdo) use ($sql): string {
        [$one, $two] = [$pdo->prepare($sql), $pdo->prepare($sql)];
        $one->execute([1]);
        $two->execute([2]);

        return $one->fetch()[0] . $two->fetch()[0] . $one->fetch()[0] . ($one === $two ? ' the same' : ' apart');
    }), "\n";

    echo 'bounded: ';
    foreach (range(1, 6) as $n) {
        $ask("SELECT $n + id FROM kept WHERE id = ?", [1]);
    }
    echo $pool->with(static fn (PDO $pdo) => $pdo->statements()), "\n";

    echo 'after a failure: ';
    thrown(static fn () => $ask('SELECT 1 FROM kept WHERE id = ?', ['x', 'y']));
    echo $ask('SELECT 1 FROM kept WHERE id = ?', [1]), ', ', numbers($pool->pool, 'open', 'in_use'), "\n";
}

echo "mysqli\n";
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
foreach ([false, true] as $full) {
    $pool = new MysqliPool('127.0.0.1', 'root', '', 'weft', (int) getenv('MARIADB_PORT'), full: $full, statementsMax: 2, max: 1);
    $count = static fn (): int => (int) $pool->with(static fn (mysqli $db) => $db->query("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'")->fetch_row()[1]);
    $ask = static fn (int $id) => $pool->with(static function (mysqli $db) use ($id): int {
        $statement = $db->prepare('SELECT id FROM kept WHERE id = ?');
        $statement->bind_param('i', $id);
        $statement->execute();
        $row = $statement->get_result()->fetch_row();
        $statement->close();

        return $row[0];
    });
    $execute = static fn (int $id) => $pool->with(static fn (mysqli $db) => $db->execute_query('SELECT v FROM kept WHERE id = ?', [$id])->fetch_row()[0]);
    $before = $count();
    $said = $ask(1) . $ask(2) . $execute(1) . $execute(2);
    echo $said, ' with ', $full ? 'a session that is reset' : $count() - $before . ' prepared', "\n";
    echo thrown(static fn () => $pool->with(static fn (mysqli $db) => $db->prepare('SELECT id FROM kept WHERE id = ?')->execute())), "\n";
    $bound = 0;
    $pool->with(static function (mysqli $db) use (&$bound): void {
        $statement = $db->prepare('SELECT id FROM kept WHERE id = ?');
        $statement->execute([2]);
        $statement->bind_result($bound);
        $statement->fetch();
    });
    echo $bound, $ask(1), $bound, ' ', numbers($pool->pool, 'open', 'in_use'), "\n";
    echo json_encode($pool->with(static fn (mysqli $db) => [$db->execute_query("UPDATE kept SET v = ? WHERE id = 2", ['z']), $db->affected_rows, $db->statements()])), "\n";
    echo substr(thrown(static fn () => $pool->with(static fn (mysqli $db) => $db->prepare('SELEC'))), 0, 50), "\n";
    $pool->close();
    (new PdoPool(dsn(), 'root', ''))->with(static fn (PDO $pdo) => $pdo->exec("UPDATE kept SET v = 'b' WHERE id = 2"));
}

__halt_compiler();
MariaDB
PDO, a PDO
122 with 0 more prepared
nothing bound: PDOException: SQLSTATE[HY093]:
a column that was bound: 1 untouched
two at once: 122 apart
bounded: 2
after a failure: 1, open 1, in_use 0
PostgreSQL
PDO, a PDO
122 with 0 more prepared
nothing bound: PDOException: SQLSTATE[HY093]:
a column that was bound: 1 untouched
two at once: 122 apart
bounded: 2
after a failure: 1, open 1, in_use 0
mysqli
12ab with 2 prepared
mysqli_sql_exception: No data supplied for parameters in prepared statement
212 open 1, in_use 0
[true,1,2]
mysqli_sql_exception: You have an error in your SQ
12ab with a session that is reset
mysqli_sql_exception: No data supplied for parameters in prepared statement
212 open 1, in_use 0
[true,1,0]
mysqli_sql_exception: You have an error in your SQ
