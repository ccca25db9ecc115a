<?php

/* mysqli over TLS. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

function secure(): mysqli
{
    $mysqli = mysqli_init();
    $mysqli->ssl_set(null, null, getenv('MARIADB_CERTIFICATE'), null, null);
    $mysqli->real_connect('127.0.0.1', 'root', '', 'weft', (int) getenv('MARIADB_PORT'), flags: MYSQLI_CLIENT_SSL);

    return $mysqli;
}

return [
    'seconds' => 2.0, // includes a hundred handshakes
    'prints' => static function (): void {
        $mysqli = secure();
        lines($mysqli->query('SHOW STATUS LIKE "Ssl_version"'));
        var_dump(md5($mysqli->query('SELECT REPEAT("0123456789", 200000)')->fetch_column()));
    },
    'waits' => static fn (int $n): string => (string) secure()->query("SELECT $n + SLEEP(2)")->fetch_column(),
];
