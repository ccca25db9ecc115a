<?php

/* Time-outs of PDO mysql and mysqli: a server that accepts connections and sends nothing. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/silent.php';

function pdo(): void
{
    $listener = silent($port);
    // ATTR_TIMEOUT no longer applies once the connection is established.
    ini_set('mysqlnd.net_read_timeout', '1');
    new PDO("mysql:host=127.0.0.1;port=$port", 'root', '', [PDO::ATTR_TIMEOUT => 1]);
}

function mysqli(): void
{
    $listener = silent($port);
    $mysqli = mysqli_init();
    $mysqli->options(MYSQLI_OPT_CONNECT_TIMEOUT, 1);
    $mysqli->options(MYSQLI_OPT_READ_TIMEOUT, 1);
    $mysqli->real_connect('127.0.0.1', 'root', '', '', $port);
}

return [
    'seconds' => 1.0,
    'prints' => static function (): void {
        echo failing(1, pdo(...)), "\n", failing(1, mysqli(...)), "\n";
    },
    'waits' => static fn (int $n): string => str_ends_with(failing(1, $n % 4 < 2 ? pdo(...) : mysqli(...)), 'gone away') ? "$n" : 'no time-out',
];
