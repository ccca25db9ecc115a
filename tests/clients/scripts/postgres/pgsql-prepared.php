<?php

/* ext-pgsql, prepared statements. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $link = connect();
        pg_prepare($link, 'times', 'SELECT $1::int * $2::int');
        foreach ([[2, 3], [4, 5]] as $pair) {
            var_dump(pg_fetch_result(pg_execute($link, 'times', $pair), 0, 0));
        }
        var_dump(pg_fetch_all_columns(pg_query($link, 'SELECT name FROM pg_prepared_statements')));
    },
    'waits' => static function (int $n): string {
        $link = connect();
        pg_prepare($link, 'wait', 'SELECT $1::int FROM pg_sleep($2)');

        return pg_fetch_result(pg_execute($link, 'wait', [$n, 0.5]), 0, 0);
    },
];
