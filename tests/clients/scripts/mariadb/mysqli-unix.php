<?php

/* mysqli over the unix socket. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

function near(): mysqli
{
    return new mysqli('localhost', 'root', '', 'weft', socket: getenv('MARIADB_SOCKET'));
}

return [
    'prints' => static function (): void {
        $mysqli = near();
        var_dump($mysqli->host_info, md5($mysqli->query('SELECT REPEAT("0123456789", 200000)')->fetch_column()));
    },
    'waits' => static fn (int $n): string => (string) near()->query("SELECT $n + SLEEP(0.5)")->fetch_column(),
];
