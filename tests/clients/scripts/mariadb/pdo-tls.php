<?php

/* PDO mysql over TLS. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

function secure(): PDO
{
    return pdo([PDO::MYSQL_ATTR_SSL_CA => getenv('MARIADB_CERTIFICATE')]);
}

return [
    'seconds' => 2.0, // includes a hundred handshakes
    'prints' => static function (): void {
        $pdo = secure();
        var_dump($pdo->query('SHOW STATUS LIKE "Ssl_version"')->fetchColumn(1));
        var_dump(md5($pdo->query('SELECT REPEAT("0123456789", 200000)')->fetchColumn()));
        $echo = $pdo->prepare('SELECT LENGTH(?)');
        $echo->execute([str_repeat('y', 3_000_000)]);
        var_dump($echo->fetchColumn());
    },
    'waits' => static fn (int $n): string => (string) secure()->query("SELECT $n + SLEEP(2)")->fetchColumn(),
];
