<?php

/* PDO pgsql over TLS. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $pdo = pdo(sslmode: 'require');
        var_dump($pdo->query('SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()')->fetchColumn());
        var_dump(md5($pdo->query("SELECT repeat('0123456789', 300000)")->fetchColumn()));
    },
    'waits' => static function (int $n): string {
        return (string) pdo(sslmode: 'require')->query("SELECT $n FROM pg_sleep(0.5)")->fetchColumn();
    },
];
