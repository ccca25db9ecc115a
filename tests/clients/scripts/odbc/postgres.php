<?php

/* ext-odbc through PostgreSQL's driver. */

declare(strict_types=1);

function connect(): mixed
{
    return odbc_connect('Driver=/usr/lib/x86_64-linux-gnu/odbc/psqlodbcw.so;Server=127.0.0.1;Database=weft;UID=weft;Port=' . getenv('POSTGRES_PORT'), '', '');
}

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $link = connect();
        $rows = odbc_exec($link, "SELECT n, repeat('x', n) AS text FROM generate_series(1, 3) n");
        while ($row = odbc_fetch_array($rows)) {
            echo json_encode($row), "\n";
        }
        odbc_autocommit($link, false);
        odbc_exec($link, 'CREATE TABLE never (id INT)');
        odbc_rollback($link);
        try {
            odbc_exec($link, 'SELECT * FROM never');
        } catch (ErrorException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $link = connect(); // since PHP 8.4 its results end with it

        return (string) odbc_result(odbc_exec($link, "SELECT $n FROM pg_sleep(0.5)"), 1);
    },
];
