<?php

declare(strict_types=1);

/** @param array<int, mixed> $options */
function pdo(array $options = [], ?string $where = null): PDO
{
    $where ??= 'host=127.0.0.1;port=' . getenv('MARIADB_PORT');

    return new PDO("mysql:$where;dbname=weft;charset=utf8mb4", 'root', '', $options);
}

function connect(string $host = '127.0.0.1'): mysqli
{
    return new mysqli($host, 'root', '', 'weft', (int) getenv('MARIADB_PORT'));
}

/** Prints a mysqli result in one line per row. */
function lines(mysqli_result $result): void
{
    foreach ($result as $row) {
        echo json_encode($row), "\n";
    }
}
