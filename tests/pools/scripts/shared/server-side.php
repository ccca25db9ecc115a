<?php

/* Which statements MariaDB prepares although emulated prepares are PDO's default, and that their rows are the same: each statement
 * is executed several times by a SharedPdo that may choose, and by one that was told to emulate. Types, names, errors and rows are compared. */

declare(strict_types=1);

use Weft\Database\SharedPdo;

require __DIR__ . '/../../support.php';

function pdo(?bool $emulates = null, int $max = 64, array $options = []): SharedPdo
{
    $options += $emulates === null ? [] : [PDO::ATTR_EMULATE_PREPARES => $emulates];

    return new SharedPdo(dsn(), 'root', '', $options, ["SET sql_mode = ''"], $max, max: 1);
}

/** How many times the server has executed a statement that it had prepared, on this one connection. */
function executed(PDO $pdo): int
{
    return (int) $pdo->query("SHOW SESSION STATUS LIKE 'Com_stmt_execute'")->fetch(PDO::FETCH_NUM)[1];
}

/** All that a caller sees of a statement. */
function seen(PDO $pdo, string $sql, array|Closure $parameters): string
{
    try {
        $statement = $pdo->prepare($sql);
        $parameters instanceof Closure ? $parameters($statement) : null;
        $statement->execute($parameters instanceof Closure ? null : $parameters);
        $rows = $statement->columnCount() > 0 ? $statement->fetchAll(PDO::FETCH_ASSOC) : null;
        ob_start();
        var_dump($rows, $statement->rowCount(), $statement->columnCount(), $statement->errorCode());

        return ob_get_clean();
    } catch (PDOException $failure) {
        return $failure->getCode() . ' ' . ($failure->errorInfo[1] ?? 0);
    }
}

function compare(SharedPdo $choosing, SharedPdo $emulating, string $sql, array|Closure $parameters = []): void
{
    $expected = seen($emulating, $sql, $parameters);
    $before = executed($choosing);
    for ($i = 0; $i < 4; ++$i) {
        $found = seen($choosing, $sql, $parameters);
        $found === $expected || throw new Exception("$sql, execution $i:\n$found\ninstead of\n$expected");
    }
    echo executed($choosing) > $before ? 'server' : 'client', ': ', $sql, "\n";
}

$setup = pdo(true);
$setup->exec("CREATE OR REPLACE TABLE side (id INT PRIMARY KEY, ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT, mi MEDIUMINT, bi BIGINT,
    bu BIGINT UNSIGNED, zf INT(6) UNSIGNED ZEROFILL, b1 BIT(1), b12 BIT(12), b64 BIT(64), f FLOAT, d DOUBLE, de DECIMAL(20,6),
    dz DECIMAL(8,2) ZEROFILL, da DATE, dt DATETIME, dt6 DATETIME(6), ts TIMESTAMP(3) NULL, tm TIME, tm3 TIME(3), y YEAR, c CHAR(5),
    v VARCHAR(50), l VARCHAR(50) CHARACTER SET latin1, bn BINARY(4), vb VARBINARY(10), tx TEXT, bl BLOB, en ENUM('a','b'), st SET('x','y'),
    js JSON, bo BOOLEAN, g POINT, u UUID, i6 INET6) CHARACTER SET utf8mb4");
$setup->exec("INSERT INTO side VALUES (1,-5,250,-300,8000000,-9223372036854775808,18446744073709551615,42,1,5,
    0xFFFFFFFFFFFFFFFF,1.1,0.1,123.45,7.5,'2024-02-29','2024-02-29 12:34:56','2024-02-29 12:34:56.123456',
    '2024-02-29 12:34:56.120','-100:30:05','12:00:00.5',2024,'ab','grün','grün','ab','a\\0b','text','\\0\\1','a','x,y','{\"a\": 1}',1,
    POINT(1,2),'6ccd780c-baba-1026-9564-5b8c656024db','::1'),
    (2,0,0,0,0,0,9223372036854775807,0,0,0,0,16777216,1e300,0,0,'0000-00-00','0000-00-00','0000-00-00','0000-00-00','00:00:00',
    '838:59:59.999',0,'','','','','','','','','','[]',0,POINT(0,0),'00000000-0000-0000-0000-000000000000','::')");
$setup->exec("INSERT INTO side (id, f, d, bu) VALUES (3,NULL,NULL,NULL),(4,3.4e38,1.7976931348623157e308,1),(5,1e-40,5e-324,2),
    (6,0.3,1e15,3),(7,123456789,123456789012345678,4),(8,1e20,1e16,5),(9,1000000,100000,5),(10,0.0001,0.00001,5),(11,-0.0,-0.0,0),
    (12,1e6,2.5e-7,3),(13,8388609,1e22,4)");
$setup->exec("CREATE OR REPLACE TABLE side_fixed (id INT PRIMARY KEY, f FLOAT(9,3), d DOUBLE(10,2))");
$setup->exec("INSERT INTO side_fixed VALUES (1, 12345.678, 3.14159), (2, 0.0005, 1)");
$setup->exec("CREATE OR REPLACE VIEW side_view AS SELECT id, f + 0 AS f FROM side_fixed");


[$choosing, $emulating] = [pdo(), pdo(true)];
$compare = static fn (string $sql, array|Closure $parameters = []) => compare($choosing, $emulating, $sql, $parameters);
$bound = static fn (mixed $value, int $type) => static fn (PDOStatement $statement) => $statement->bindValue(1, $value, $type);

echo "Values of every type, and nothing\n";
$compare('SELECT * FROM side WHERE id >= ?', [0]);
$compare('SELECT * FROM side WHERE id > ?', [100]);
$compare('SELECT COUNT(*) AS n FROM side');
$compare('SELECT f, d FROM side_fixed WHERE id = ?', [1]);
$compare('SELECT f FROM side_view WHERE id = ?', [1]);

echo "Parameters\n";
foreach (['id' => ['1', 1, '1abc', '', null, true, 1.0], 'v' => ['GRÜN', "\xff", 'gru%', "it's \\"], 'l' => ['grün', '日本', "\xff"], 'c' => ['ab   '],
    'vb' => ["a\0b"], 'bl' => ["\0\1"], 'bu' => ['18446744073709551615', 5], 'bi' => ['-9223372036854775808', PHP_INT_MIN],
    'd' => ['0.1', 0.1, '1e300'], 'f' => ['1.1', 1.1], 'de' => ['123.45', 123.45], 'dt' => ['2024-02-29 12:34:56', 'nonsense', 20240229123456],
    'tm' => ['-100:30:05'], 'y' => ['2024', 24], 'bo' => [true, false, 1], 'js' => ['[]'], 'en' => ['a', 1], 'st' => ['x,y'], 'b12' => [5, '5'],
    'u' => ['6ccd780c-baba-1026-9564-5b8c656024db'], 'i6' => ['::1']] as $column => $values) {
    foreach ($values as $value) {
        ob_start();
        foreach (['=', '<=>', '<>', '<', '>=', 'LIKE', 'NOT LIKE'] as $operator) {
            $compare("SELECT id, v FROM side WHERE $column $operator ?", [$value]);
            if (is_int($value)) {
                $compare("SELECT id, v FROM side WHERE $column $operator ?", $bound($value, PDO::PARAM_INT));
            }
        }
        $compare("SELECT id FROM side WHERE $column IN (?, 2)", [$value]);
        $compare("SELECT id FROM side WHERE $column BETWEEN ? AND ?", [$value, $value]);
        $ways = array_count_values(array_map(static fn (string $line) => strtok($line, ':'), explode("\n", trim(ob_get_clean()))));
        echo $column, ': ', implode(', ', array_keys($ways)), "\n";
    }
}
$compare('SELECT id FROM side WHERE bo = ?', $bound(true, PDO::PARAM_BOOL));
$compare('SELECT id FROM side WHERE v <=> ?', $bound(null, PDO::PARAM_NULL));

echo "Texts\n";
$compare('SELECT a.id, b.v AS other FROM side a LEFT JOIN side AS b ON b.id = a.id AND b.ti < ? WHERE (a.id = ? OR a.v IS NULL) AND a.id NOT IN (?, ?) ORDER BY a.id DESC LIMIT 3', [1, 1, 5, 6]);
$compare('select * from `side` where `side`.`id` = ? limit 1', [1]);
$compare('SELECT id FROM side WHERE id = :id AND v = :v', ['id' => 1, ':v' => 'grün']);
$compare('SELECT id FROM side WHERE id = ? FOR UPDATE', [1]);

echo "What is not the same stays with the client\n";
$compare('SELECT id, ? FROM side WHERE id = 1', [5]);
$compare('SELECT id FROM side ORDER BY id LIMIT ?', [5]);
$compare('SELECT id FROM side ORDER BY id LIMIT ?', $bound(5, PDO::PARAM_INT));
$compare('SELECT id FROM side WHERE id = :id OR ti = :id', ['id' => 1]);
$compare('SELECT SUM(d) AS s FROM side', []);
$compare("SELECT id FROM side WHERE v = '?' OR id = ?", [1]);
$compare('SELECT `v` AS `a?` FROM side WHERE id = ?', [1]);
$compare('SELECT id % ? AS g FROM side GROUP BY id % ?', [2, 2]);
$compare('SELECT id FROM side WHERE d > ?', $bound(0.1, PDO::PARAM_INT));
$compare('SELECT id FROM side WHERE v = ?', $bound('grün', PDO::PARAM_STR | PDO::PARAM_STR_NATL));
$compare('SELECT id FROM side WHERE bl = ?', $bound("\0\1", PDO::PARAM_LOB));
$compare('SELEC id FROM side WHERE id = ?', [1]);
$compare('SELECT id FROM nowhere WHERE id = ?', [1]);
$compare('SELECT nothing FROM side WHERE id = ?', [1]);
$compare('UPDATE side SET ti = ti WHERE id = ?', [1]);

echo "Parameters that are missing, too many, or have another name\n";
foreach ([[], [1, 2], ['id' => 1]] as $parameters) {
    $compare('SELECT id, ti FROM side WHERE id = ?', [1]);
    $compare('SELECT id, ti FROM side WHERE id = ?', $parameters);
}

echo "A table that has changed\n";
$setup->exec('DROP TABLE IF EXISTS side_changing');
$compare('SELECT * FROM side_fixed WHERE id = ?', [2]);
$compare('SELECT * FROM side_changing WHERE id = ?', [2]);
$setup->exec('CREATE TABLE side_changing (id INT, a INT)');
$setup->exec('INSERT INTO side_changing VALUES (2, 5)');
$compare('SELECT id, a FROM side_changing WHERE id = ?', [2]);
$setup->exec('ALTER TABLE side_changing MODIFY a VARCHAR(20), MODIFY id DECIMAL(5,2)');
$compare('SELECT id, a FROM side_changing WHERE id = ?', [2]);
$setup->exec('DROP TABLE side_changing');
$compare('SELECT id, a FROM side_changing WHERE id = ?', [2]);

echo "Connections that keep the client's way\n";
compare(pdo(max: 0), $emulating, 'SELECT id FROM side WHERE id = ?', [1]);
compare(pdo(true), $emulating, 'SELECT id FROM side WHERE id = ?', [1]);
$strings = [PDO::ATTR_STRINGIFY_FETCHES => true];
compare(pdo(null, options: $strings), pdo(true, options: $strings), 'SELECT id, d FROM side WHERE id > ?', [1]);
$rows = [Weft\Database\PdoConnector::mysql('USE_BUFFERED_QUERY') => false];
compare(pdo(null, options: $rows), pdo(true, options: $rows), 'SELECT id, d FROM side WHERE id > ?', [1]);
$late = pdo();
compare($late, $emulating, 'SELECT id FROM side WHERE id = ?', [1]);
$late->setAttribute(PDO::ATTR_STRINGIFY_FETCHES, true);
compare($late, pdo(true, options: $strings), 'SELECT id FROM side WHERE id = ?', [1]);

echo "A session of its own\n";
$setup->exec('CREATE DATABASE IF NOT EXISTS side_other');
$setup->exec('CREATE OR REPLACE TABLE side_other.side (id INT)');
$setup->exec('INSERT INTO side_other.side VALUES (77)');
foreach ([$choosing, $emulating] as $pdo) {
    $pdo->prepare('SELECT id FROM side WHERE id > ?')->execute([50]);
    $pdo->exec('USE side_other');
}
$compare('SELECT id FROM side WHERE id > ?', [50]);
echo json_encode($choosing->query('SELECT id FROM side')->fetchAll(PDO::FETCH_COLUMN)), "\n";

__halt_compiler();
Values of every type, and nothing
server: SELECT * FROM side WHERE id >= ?
server: SELECT * FROM side WHERE id > ?
server: SELECT COUNT(*) AS n FROM side
client: SELECT f, d FROM side_fixed WHERE id = ?
client: SELECT f FROM side_view WHERE id = ?
Parameters
id: server
id: server
id: server
id: server
id: server
id: server
id: server
v: server
v: server
v: server
v: server
l: server
l: server
l: server
c: server
vb: server
bl: server
bu: server
bu: server
bi: server
bi: server
d: server
d: server
d: server
f: server
f: server
de: server
de: server
dt: server
dt: server
dt: server
tm: server
y: server
y: server
bo: server
bo: server
bo: server
js: server
en: server
en: server
st: server
b12: server
b12: server
u: server, client
i6: server, client
server: SELECT id FROM side WHERE bo = ?
server: SELECT id FROM side WHERE v <=> ?
Texts
server: SELECT a.id, b.v AS other FROM side a LEFT JOIN side AS b ON b.id = a.id AND b.ti < ? WHERE (a.id = ? OR a.v IS NULL) AND a.id NOT IN (?, ?) ORDER BY a.id DESC LIMIT 3
server: select * from `side` where `side`.`id` = ? limit 1
server: SELECT id FROM side WHERE id = :id AND v = :v
server: SELECT id FROM side WHERE id = ? FOR UPDATE
What is not the same stays with the client
client: SELECT id, ? FROM side WHERE id = 1
client: SELECT id FROM side ORDER BY id LIMIT ?
client: SELECT id FROM side ORDER BY id LIMIT ?
client: SELECT id FROM side WHERE id = :id OR ti = :id
client: SELECT SUM(d) AS s FROM side
client: SELECT id FROM side WHERE v = '?' OR id = ?
client: SELECT `v` AS `a?` FROM side WHERE id = ?
client: SELECT id % ? AS g FROM side GROUP BY id % ?
client: SELECT id FROM side WHERE d > ?
client: SELECT id FROM side WHERE v = ?
client: SELECT id FROM side WHERE bl = ?
client: SELEC id FROM side WHERE id = ?
client: SELECT id FROM nowhere WHERE id = ?
client: SELECT nothing FROM side WHERE id = ?
client: UPDATE side SET ti = ti WHERE id = ?
Parameters that are missing, too many, or have another name
server: SELECT id, ti FROM side WHERE id = ?
client: SELECT id, ti FROM side WHERE id = ?
server: SELECT id, ti FROM side WHERE id = ?
client: SELECT id, ti FROM side WHERE id = ?
server: SELECT id, ti FROM side WHERE id = ?
client: SELECT id, ti FROM side WHERE id = ?
A table that has changed
client: SELECT * FROM side_fixed WHERE id = ?
client: SELECT * FROM side_changing WHERE id = ?
server: SELECT id, a FROM side_changing WHERE id = ?
server: SELECT id, a FROM side_changing WHERE id = ?
server: SELECT id, a FROM side_changing WHERE id = ?
Connections that keep the client's way
client: SELECT id FROM side WHERE id = ?
client: SELECT id FROM side WHERE id = ?
client: SELECT id, d FROM side WHERE id > ?
client: SELECT id, d FROM side WHERE id > ?
server: SELECT id FROM side WHERE id = ?
client: SELECT id FROM side WHERE id = ?
A session of its own
client: SELECT id FROM side WHERE id > ?
[77]
