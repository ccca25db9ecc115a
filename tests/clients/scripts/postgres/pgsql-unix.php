<?php

/* ext-pgsql over the unix socket. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

function near(): PgSql\Connection
{
    return pg_connect(dsn(getenv('POSTGRES_DIRECTORY')), PGSQL_CONNECT_FORCE_NEW);
}

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $link = near();
        var_dump(pg_host($link) === getenv('POSTGRES_DIRECTORY'));
        var_dump(md5(pg_fetch_result(pg_query($link, "SELECT repeat('0123456789', 300000)"), 0, 0)));
    },
    'waits' => static fn (int $n): string => pg_fetch_result(pg_query(near(), "SELECT $n FROM pg_sleep(0.5)"), 0, 0),
];
