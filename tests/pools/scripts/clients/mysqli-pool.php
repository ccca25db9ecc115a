<?php

/* MysqliPool: a returned connection is rolled back, and fully reset if the pool is configured so. */

declare(strict_types=1);

use Weft\Database\MysqliPool;

use function Weft\go;
use function Weft\timeout;

require getenv('POOLS') . '/support.php';

$make = fn (bool $full) => new MysqliPool('127.0.0.1', 'root', '', 'weft', (int) getenv('MARIADB_PORT'), full: $full, max: 1);
$pool = $make(false);
$pool->with(fn (mysqli $db) => $db->query('CREATE OR REPLACE TABLE mysqli_pool (id INT PRIMARY KEY) ENGINE=InnoDB'));
$count = fn (mysqli $db) => $db->query('SELECT COUNT(*) FROM mysqli_pool')->fetch_row()[0];
$pool->with(static function (mysqli $db): void {
    $db->begin_transaction();
    $db->query('INSERT INTO mysqli_pool VALUES (1)');
});
echo 'left open: ', $pool->with($count), "\n";
$tasks = array_map(fn ($n) => go(fn () => $pool->with(fn (mysqli $db) => $db->query("SELECT $n + SLEEP(0.001)")->fetch_row()[0])), range(1, 10));
echo implode(' ', array_map(fn ($task) => (int) $task->await(), $tasks)), "\n";

foreach ([false, true] as $full) {
    $pool = $make($full);
    $pool->with(fn (mysqli $db) => $db->query('SET @mine = 1'));
    echo $full ? 'in full: ' : 'rollback only: ', json_encode($pool->with(fn (mysqli $db) => $db->query('SELECT @mine')->fetch_row()[0])), ', ';
    echo $pool->with(fn (mysqli $db) => $db->character_set_name()), ', ', numbers($pool->pool, 'created'), "\n";
}
echo substr(thrown(fn () => $pool->with(fn (mysqli $db) => $db->query('nothing'))), 0, 21), ', ', numbers($pool->pool, 'discarded'), "\n";
echo thrown(fn () => timeout(0.02, fn () => $pool->with(fn (mysqli $db) => $db->query('SELECT SLEEP(30)')))), ', ';
echo $pool->with($count), ', ', numbers($pool->pool, 'discarded'), "\n";
$nobody = new MysqliPool('127.0.0.1', 'root', '', 'weft', 1, max: 1);
echo thrown(fn () => $nobody->with($count)), "\n";

__halt_compiler();
left open: 0
1 2 3 4 5 6 7 8 9 10
rollback only: "1", utf8mb4, created 1
in full: null, utf8mb4, created 1
mysqli_sql_exception:, discarded 0
Weft\TimeoutException: Not done within 0.02 seconds, 0, discarded 1
mysqli_sql_exception: Connection refused
