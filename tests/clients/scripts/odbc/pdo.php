<?php

/* PDO odbc through MariaDB's driver. */

declare(strict_types=1);

function connect(): PDO
{
    return new PDO('odbc:Driver=/usr/lib/x86_64-linux-gnu/odbc/libmaodbc.so;Server=127.0.0.1;Database=weft;Port=' . getenv('MARIADB_PORT'), 'root', '');
}

return [
    'prints' => static function (): void {
        $pdo = connect();
        $select = $pdo->prepare('SELECT seq, CONCAT(?, seq) AS text FROM seq_1_to_3');
        $select->execute(['n']);
        echo json_encode($select->fetchAll(PDO::FETCH_ASSOC)), "\n";
    },
    'waits' => static fn (int $n): string => (string) (int) connect()->query("SELECT $n + SLEEP(0.5)")->fetchColumn(),
];
