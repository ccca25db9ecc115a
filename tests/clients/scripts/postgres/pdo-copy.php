<?php

/* PDO pgsql, COPY in both directions. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $pdo = pdo();
        $pdo->exec('CREATE TEMPORARY TABLE t (id INT, text TEXT)');
        $rows = array_map(static fn (int $id): string => "$id\t" . str_repeat('x', 1000), range(1, 3000));
        var_dump($pdo->pgsqlCopyFromArray('t', $rows));
        $out = $pdo->pgsqlCopyToArray('t');
        var_dump(count($out), md5(implode('', $out)));
        $file = tempnam(sys_get_temp_dir(), 'copy');
        var_dump($pdo->pgsqlCopyToFile('t', $file), filesize($file));
        var_dump($pdo->pgsqlCopyFromFile('t', $file));
        unlink($file);
        var_dump($pdo->query('SELECT COUNT(*), SUM(id) FROM t')->fetch(PDO::FETCH_NUM));
    },
    'waits' => static function (int $n): string {
        $rows = pdo()->pgsqlCopyToArray("(SELECT $n FROM pg_sleep(0.5))");

        return trim($rows[0]);
    },
];
