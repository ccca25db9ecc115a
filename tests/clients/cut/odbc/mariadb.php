<?php

declare(strict_types=1);

return [
    'open' => static fn (): mixed => odbc_pconnect(
        'Driver=/usr/lib/x86_64-linux-gnu/odbc/libmaodbc.so;Server=127.0.0.1;Database=weft;Port=' . getenv('MARIADB_PORT'),
        'root',
        '',
    ),
    'ask' => static fn (mixed $link, string $text): string => odbc_result(odbc_exec($link, "SELECT '$text'"), 1),
    'slow' => static fn (mixed $link): mixed => odbc_exec($link, "SELECT 'alice' FROM (SELECT SLEEP(2)) AS slept"),
    'half' => static fn (mixed $link): mixed => odbc_exec($link, "SELECT 'alice' FROM seq_1_to_100000"),
];
