<?php

/* SharedPdo::batch(): the same results, in the same order, whether the client sends the statements together (MariaDB) or one after
 * another (PostgreSQL); what has run when one of them fails; and that no text reaches into another. */

declare(strict_types=1);

use Weft\Database\BatchException;
use Weft\Database\SharedPdo;

use function Weft\parallel;

require __DIR__ . '/../../support.php';

function failed(SharedPdo $db, array $statements): void
{
    try {
        $results = $db->batch($statements);
        echo 'results ', json_encode($results), "\n";
    } catch (BatchException $failure) {
        $failure->errorInfo[0] === $failure->getCode() || throw new Exception('two codes');
        $why = match (substr($failure->getCode(), 0, 2)) {
            '23' => 'a duplicate',
            '42' => 'its syntax',
            'HY', '08' => 'its parameters',
            default => $failure->getMessage(),
        };
        echo "statement $failure->statement: $why; before it ", json_encode($failure->results), "\n";
    }
}

function rows(SharedPdo $db): string
{
    return json_encode($db->query('SELECT id, v FROM batched ORDER BY id')->fetchAll(PDO::FETCH_KEY_PAIR));
}

$options = [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC];
$apart = [Weft\Database\PdoConnector::mysql('MULTI_STATEMENTS') => false];
$databases = [
    'MariaDB' => new SharedPdo(dsn(), 'root', '', $options, max: 2),
    'MariaDB that prepares' => new SharedPdo(dsn(), 'root', '', [PDO::ATTR_EMULATE_PREPARES => false] + $options, max: 2),
    'MariaDB, one by one' => new SharedPdo(dsn(), 'root', '', $apart + $options, max: 2),
    'PostgreSQL' => new SharedPdo('pgsql:host=127.0.0.1;dbname=weft;user=weft;port=' . getenv('POSTGRES_PORT'), options: $options, max: 2),
];
$said = [];
foreach ($databases as $name => $db) {
    ob_start();
    $db->batch(['DROP TABLE IF EXISTS batched', 'CREATE TABLE batched (id INT PRIMARY KEY, v VARCHAR(50))']);
    $insert = 'INSERT INTO batched VALUES (?, ?)';
    echo json_encode($db->batch([
        [$insert, [1, "it's ? :name"]],
        [$insert, [2, "'; DELETE FROM batched; -- \\"]],
        'SELECT COUNT(*) AS n FROM batched',
        ['SELECT id FROM batched WHERE v = ? LIMIT ?', ["it's ? :name", 5]],
        ["UPDATE batched SET v = 'x?' WHERE id >= ?", [2]],
        ['SELECT id FROM batched WHERE id = :id', ['id' => 2]],
        ['SELECT id FROM batched WHERE id = :id', ['id' => 1]],
        ['SELECT id FROM batched WHERE id = :own', [':own' => 1]],
        'SELECT id FROM batched WHERE id > 5',
        'DELETE FROM batched WHERE id > 5',
        "SELECT ';' AS s /* ; */ -- ;",
        ['SELECT v FROM batched WHERE v IS NULL OR id = ?', [null]],
    ])), "\n";

    echo "A failure: those before it have run\n";
    failed($db, [[$insert, [3, 'c']], [$insert, [3, 'd']], [$insert, [4, 'e']]]);
    echo rows($db), "\n";
    echo "In a transaction, which is the application's to end\n";
    $db->beginTransaction();
    failed($db, [[$insert, [5, 'c']], ['UPDATE batched SET v = ?', ['all']], [$insert, [3, 'd']], 'SELECT 1']);
    $db->rollBack();
    echo rows($db), "\n";
    echo "One that the batch begins\n";
    failed($db, ['BEGIN', [$insert, [6, 'c']], 'COMMIT']);
    failed($db, ['BEGIN', [$insert, [7, 'c']], [$insert, [3, 'd']], 'COMMIT']);
    echo $db->inTransaction() ? 'open' : 'over', ', ';
    $db->rollBack();
    echo rows($db), "\n";

    echo "Texts that do not end, and parameters of the wrong number\n";
    failed($db, ["SELECT 'a", "b' AS c"]);
    failed($db, ['SELECT 1 AS one /* x', '*/ SELECT 2 AS two']);
    failed($db, ['SELECT 1 AS one', ['SELECT 2 AS two WHERE 1 = ? AND 1 = ?', [1]], ['SELECT 3 AS three WHERE 1 = ?', [1, 1]]]);
    echo thrown(fn () => $db->batch([['SELECT 1', 'x']])), "\n", thrown(fn () => $db->batch([5])), "\n";
    echo json_encode($db->batch([])), "\n";

    echo "Cut short: the connection goes, and nobody gets its results\n";
    $sleep = $name === 'PostgreSQL' ? 'SELECT 1 AS n FROM pg_sleep(60)' : 'SELECT SLEEP(60) AS n';
    echo strtok(thrown(static fn () => Weft\timeout(0.05, static fn () => $db->batch(['SELECT 1 AS n', $sleep, 'SELECT 2 AS n']))), ':'), ' ';
    echo json_encode($db->batch(['SELECT 3 AS n', 'SELECT 4 AS n'])), ' ', numbers($db->pool, 'open'), "\n";

    echo "By many at once\n";
    $own = static fn (int $n) => static fn () => $db->batch([['SELECT id FROM batched WHERE id = ?', [$n % 3 + 1]], ['SELECT COUNT(*) AS n FROM batched WHERE id < ?', [$n]]]);
    $all = parallel(array_map($own, range(0, 19)));
    foreach ($all as $n => [[$row], [$count]]) {
        $row['id'] === $n % 3 + 1 && $count['n'] <= $n || throw new Exception("$n got another's rows");
    }
    // One connection may be enough, if it is quick.
    echo str_replace('open 1,', 'open 2,', numbers($db->pool, 'open', 'in_use')), "\n";
    $said[$name] = ob_get_clean();
}
echo reset($said);
foreach ($said as $name => $text) {
    echo $name, ': ', $text === reset($said) ? 'the same' : $text, "\n";
}

__halt_compiler();
[1,1,[{"n":2}],[{"id":1}],1,[{"id":2}],[{"id":1}],[{"id":1}],[],0,[{"s":";"}],[]]
A failure: those before it have run
statement 1: a duplicate; before it [1]
{"1":"it's ? :name","2":"x?","3":"c"}
In a transaction, which is the application's to end
statement 2: a duplicate; before it [1,4]
{"1":"it's ? :name","2":"x?","3":"c"}
One that the batch begins
results [0,1,0]
statement 2: a duplicate; before it [0,1]
open, {"1":"it's ? :name","2":"x?","3":"c","6":"c"}
Texts that do not end, and parameters of the wrong number
statement 0: its syntax; before it []
statement 0: its syntax; before it []
statement 1: its parameters; before it [[{"one":1}]]
ValueError: A statement of a batch is a text, or an array of a text and its parameters
ValueError: A statement of a batch is a text, or an array of a text and its parameters
[]
Cut short: the connection goes, and nobody gets its results
Weft\TimeoutException [[{"n":3}],[{"n":4}]] open 1
By many at once
open 2, in_use 0
MariaDB: the same
MariaDB that prepares: the same
MariaDB, one by one: the same
PostgreSQL: the same
