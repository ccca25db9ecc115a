<?php

/* ext-pgsql: pg_connect() without FORCE_NEW, and functions that use the last opened connection. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $link = pg_connect(dsn());
        $same = pg_connect(dsn());
        var_dump($link === $same, pg_get_pid($link) === pg_get_pid($same));
        pg_query($link, 'SELECT pg_sleep(0.01)');
        set_error_handler(static fn (): bool => true, E_DEPRECATED);
        var_dump(pg_fetch_result(pg_query('SELECT pg_backend_pid()'), 0, 0) === (string) pg_get_pid($link));
        restore_error_handler();
    },
    'waits' => static function (int $n): string {
        pg_connect(dsn());
        set_error_handler(static fn (): bool => true, E_DEPRECATED);
        pg_query("SET weft.n = $n");

        return pg_fetch_result(pg_query("SELECT current_setting('weft.n') FROM pg_sleep(0.5)"), 0, 0);
    },
];
