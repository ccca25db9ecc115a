<?php

/* PDO mysql over the unix socket. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

function near(): PDO
{
    return pdo(where: 'unix_socket=' . getenv('MARIADB_SOCKET'));
}

return [
    'prints' => static function (): void {
        $pdo = near();
        var_dump($pdo->getAttribute(PDO::ATTR_CONNECTION_STATUS));
        var_dump(md5($pdo->query('SELECT REPEAT("0123456789", 200000)')->fetchColumn()));
        try {
            pdo(where: 'unix_socket=/nowhere');
        } catch (PDOException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static fn (int $n): string => (string) near()->query("SELECT $n + SLEEP(0.5)")->fetchColumn(),
];
