<?php

/* ext-pgsql: LISTEN, NOTIFY, pg_get_notify(), pg_consume_input(). */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

/** @return array<int|string, mixed>|false */
function notified(PgSql\Connection $link, float $seconds): array|false
{
    $read = [pg_socket($link)];
    $write = $except = null;
    if (stream_select($read, $write, $except, 0, (int) ($seconds * 1e6)) === 0) {
        return false;
    }
    pg_consume_input($link);

    return pg_get_notify($link);
}

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $link = connect();
        $channel = 'c' . bin2hex(random_bytes(8));
        pg_query($link, "LISTEN $channel");
        var_dump(pg_get_notify($link), notified($link, 0.01));
        pg_query(connect(), "NOTIFY $channel, 'hello'");
        $notice = notified($link, 10);
        var_dump($notice['message'] === $channel, $notice['payload']);
    },
    'waits' => static function (int $n): string {
        $link = connect();
        pg_query($link, "LISTEN waits$n");
        $nothing = notified($link, 0.5);
        pg_query(connect(), "NOTIFY waits$n, '$n'");

        return $nothing === false ? notified($link, 10)['payload'] : 'too early';
    },
];
