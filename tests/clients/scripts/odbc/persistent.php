<?php

/* ext-odbc, odbc_pconnect(): requests that run at the same time each have their own connection. */

declare(strict_types=1);

function kept(): mixed
{
    return odbc_pconnect('Driver=/usr/lib/x86_64-linux-gnu/odbc/libmaodbc.so;Server=127.0.0.1;Database=weft;Port=' . getenv('MARIADB_PORT'), 'root', '');
}

function value(mixed $link, string $query): string
{
    return (string) odbc_result(odbc_exec($link, $query), 1);
}

return [
    'prints' => static function (): void {
        $id = value(kept(), 'SELECT CONNECTION_ID()');
        var_dump($id === value(kept(), 'SELECT CONNECTION_ID()'));
    },
    'waits' => static function (int $n): string {
        $link = kept();
        odbc_exec($link, "SET @n = $n");

        return (string) (int) value($link, 'SELECT @n + SLEEP(0.5)');
    },
];
