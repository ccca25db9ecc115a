<?php

declare(strict_types=1);

return [
    'open' => static fn (): mixed => odbc_pconnect(
        'Driver=/usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so;Server=127.0.0.1;Database=weft;UID=weft;Port=' . getenv('POSTGRES_PORT'),
        '',
        '',
    ),
    'ask' => static fn (mixed $link, string $text): string => odbc_result(odbc_exec($link, "SELECT '$text'"), 1),
    'slow' => static fn (mixed $link): mixed => odbc_exec($link, "SELECT 'alice' FROM pg_sleep(2)"),
    'half' => static fn (mixed $link): mixed => odbc_exec($link, "SELECT 'alice' FROM generate_series(1, 100000)"),
];
