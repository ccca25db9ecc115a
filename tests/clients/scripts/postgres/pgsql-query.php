<?php

/* ext-pgsql: queries, parameters, errors, large results; with an explicit connection and with the last opened
 * one. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $link = connect();
        pg_query($link, 'CREATE TEMPORARY TABLE t (id INT, name TEXT)');
        var_dump(pg_affected_rows(pg_query_params($link, 'INSERT INTO t VALUES ($1, $2), ($3, $4)', [1, 'one', 2, "it's"])));
        echo json_encode(pg_fetch_all(pg_query($link, 'SELECT * FROM t ORDER BY id'))), "\n";
        var_dump(md5(pg_fetch_result(pg_query($link, "SELECT repeat('0123456789', 300000)"), 0, 0)));
        try {
            pg_query($link, 'SELECT nonsense');
        } catch (ErrorException $e) {
            echo $e->getMessage(), "\n";
        }
        echo json_encode(pg_select($link, 'pg_catalog.pg_database', ['datname' => 'weft']) !== false), "\n";
        var_dump(pg_connection_reset($link), pg_ping($link));
    },
    'waits' => static function (int $n): string {
        $link = connect();

        return pg_fetch_result(pg_query_params($link, 'SELECT $1::int FROM pg_sleep(0.5)', [$n]), 0, 0);
    },
];
