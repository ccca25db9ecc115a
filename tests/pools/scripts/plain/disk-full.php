<?php

/* The disk is full in the middle of a transaction: SQLite rolls back by itself, and PDO does not notice. The next
 * transaction starts fresh. */

declare(strict_types=1);

use Weft\Database\SharedPdo;

require getenv('POOLS') . '/support.php';

pcntl_signal(SIGXFSZ, SIG_IGN);
$file = tempnam(sys_get_temp_dir(), 'disk-full-');
$db = new SharedPdo("sqlite:$file", initial: ['PRAGMA journal_mode = WAL', 'PRAGMA synchronous = FULL'], max: 2);
$db->exec('CREATE TABLE t (a TEXT)');

$limit = static fn (string $bytes) => shell_exec('prlimit --pid ' . getmypid() . " --fsize=$bytes:unlimited");
$write = static function () use ($db): string {
    try {
        $db->beginTransaction();
        try {
            $db->prepare('INSERT INTO t VALUES (?)')->execute([str_repeat('x', 20_000)]);
            $db->commit();

            return 'written';
        } catch (PDOException $full) {
            try {
                $db->rollBack();
            } catch (PDOException) {
                return 'refused, and the rollback too';
            }

            return 'refused';
        }
    } catch (PDOException) {
        return 'not begun';
    }
};

$first = $write();
$limit('0');
$write();
$write();
$limit('unlimited');
echo "$first, ", $write(), ', ', $db->query('SELECT COUNT(*) FROM t')->fetchColumn(), " rows\n";
echo numbers($db->pool, 'in_use'), "\n";
array_map(unlink(...), glob("$file*"));

__halt_compiler();
written, written, 2 rows
in_use 0
