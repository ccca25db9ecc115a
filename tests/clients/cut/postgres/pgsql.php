<?php

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'open' => static fn (): PgSql\Connection => pg_pconnect(dsn()),
    'ask' => static fn (PgSql\Connection $link, string $text): string => (string) pg_fetch_result(
        pg_query_params($link, 'SELECT $1::text', [$text]),
        0,
        0,
    ),
    'slow' => static fn (PgSql\Connection $link): mixed => pg_query($link, "SELECT 'alice' FROM pg_sleep(2)"),
    'half' => static function (PgSql\Connection $link): mixed {
        pg_send_query($link, "SELECT 'alice' FROM pg_sleep(0.3)");

        return $link;
    },
];
