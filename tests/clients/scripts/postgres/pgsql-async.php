<?php

/* ext-pgsql, asynchronous: send a query, check whether the connection is busy, get the result. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $link = connect();
        $other = connect();
        $lock = random_int(1, PHP_INT_MAX);
        pg_query($other, "SELECT pg_advisory_lock($lock)");
        var_dump(pg_connection_busy($link), pg_send_query($link, "SELECT 1 FROM pg_advisory_lock($lock); SELECT 2"));
        var_dump(pg_connection_busy($link));
        pg_query($other, "SELECT pg_advisory_unlock($lock)");
        while ($result = pg_get_result($link)) {
            echo json_encode(pg_fetch_all($result)), "\n";
        }
        var_dump(pg_send_query_params($link, 'SELECT $1::int + 1', [41]), pg_fetch_result(pg_get_result($link), 0, 0));
        pg_get_result($link);
        pg_send_prepare($link, 'p', 'SELECT $1::text');
        while (pg_get_result($link)) {
        }
        pg_send_execute($link, 'p', ['sent']);
        var_dump(pg_fetch_result(pg_get_result($link), 0, 0));
        pg_get_result($link);
        pg_send_query($link, 'SELECT pg_sleep(60)');
        // A cancellation that arrives before its query cancels nothing.
        do {
            $running = pg_query_params($other, 'SELECT state FROM pg_stat_activity WHERE pid = $1', [pg_get_pid($link)]);
        } while (pg_fetch_result($running, 0, 0) !== 'active');
        var_dump(pg_cancel_query($link));
        pg_send_query($link, 'SELECT pg_sleep(0.02)');
        while (pg_connection_busy($link)) {
            $read = [pg_socket($link)];
            $write = $except = null;
            stream_select($read, $write, $except, 10);
        }
        var_dump(pg_result_status(pg_get_result($link)) === PGSQL_TUPLES_OK);
        $large = str_repeat('x', 3_000_000);
        pg_get_result($link);
        var_dump(pg_send_query_params($link, 'SELECT length($1)', [$large]), pg_flush($link));
        var_dump(pg_fetch_result(pg_get_result($link), 0, 0));
    },
    'waits' => static function (int $n): string {
        $link = connect();
        pg_send_query($link, "SELECT $n FROM pg_sleep(0.5)");

        return pg_fetch_result(pg_get_result($link), 0, 0);
    },
];
