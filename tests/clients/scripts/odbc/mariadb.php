<?php

/* ext-odbc through MariaDB's driver. */

declare(strict_types=1);

function connect(): mixed
{
    return odbc_connect('Driver=/usr/lib/x86_64-linux-gnu/odbc/libmaodbc.so;Server=127.0.0.1;Database=weft;Port=' . getenv('MARIADB_PORT'), 'root', '');
}

return [
    'prints' => static function (): void {
        $link = connect();
        odbc_exec($link, 'CREATE TEMPORARY TABLE t (id INT, name VARCHAR(20))');
        $insert = odbc_prepare($link, 'INSERT INTO t VALUES (?, ?)');
        odbc_execute($insert, [1, 'one']);
        odbc_execute($insert, [2, "it's"]);
        $rows = odbc_exec($link, 'SELECT * FROM t ORDER BY id');
        while ($row = odbc_fetch_array($rows)) {
            echo json_encode($row), "\n";
        }
        try {
            odbc_exec($link, 'SELECT nonsense');
        } catch (ErrorException $e) {
            echo preg_replace('/\[[0-9.]+-MariaDB[^]]*\]/', '', $e->getMessage()), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $link = connect(); // since PHP 8.4 its results end with it

        return (string) (int) odbc_result(odbc_exec($link, "SELECT $n + SLEEP(0.5)"), 1);
    },
];
