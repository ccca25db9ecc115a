<?php

/* ext-pgsql, pg_pconnect(): requests that run at the same time each have their own connection. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $first = pg_pconnect(dsn());
        $second = pg_pconnect(dsn());
        var_dump(pg_get_pid($first) === pg_get_pid($second), pg_get_pid(connect()) === pg_get_pid($first));
    },
    'waits' => static function (int $n): string {
        $link = pg_pconnect(dsn());
        pg_query($link, "SET weft.n = $n");

        return pg_fetch_result(pg_query($link, "SELECT current_setting('weft.n') FROM pg_sleep(0.5)"), 0, 0);
    },
];
