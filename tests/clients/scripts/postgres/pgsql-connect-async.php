<?php

/* ext-pgsql: PGSQL_CONNECT_ASYNC with pg_connect_poll(), and busy polling with a pause. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

function connected(): PgSql\Connection
{
    $link = pg_connect(dsn(), PGSQL_CONNECT_FORCE_NEW | PGSQL_CONNECT_ASYNC);
    $read = $write = [];
    while (($state = pg_connect_poll($link)) !== PGSQL_POLLING_OK) {
        if ($state === PGSQL_POLLING_FAILED) {
            throw new RuntimeException(pg_last_error($link));
        }
        $read = $state === PGSQL_POLLING_READING ? [pg_socket($link)] : null;
        $write = $state === PGSQL_POLLING_READING ? null : [pg_socket($link)];
        $except = null;
        stream_select($read, $write, $except, 10);
    }

    return $link;
}

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $link = connected();
        var_dump(pg_connection_status($link) === PGSQL_CONNECTION_OK);
        echo json_encode(pg_fetch_all(pg_query($link, 'SELECT 1 AS one'))), "\n";
    },
    'waits' => static function (int $n): string {
        $link = connected();
        pg_send_query($link, "SELECT $n FROM pg_sleep(0.5)");
        while (pg_connection_busy($link)) {
            usleep(5_000);
        }

        return pg_fetch_result(pg_get_result($link), 0, 0);
    },
];
