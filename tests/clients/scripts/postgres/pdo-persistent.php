<?php

/* PDO pgsql, persistent: requests that run at the same time each have their own connection. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $pid = pdo([PDO::ATTR_PERSISTENT => true])->query('SELECT pg_backend_pid()')->fetchColumn();
        $again = pdo([PDO::ATTR_PERSISTENT => true]);
        var_dump($pid === $again->query('SELECT pg_backend_pid()')->fetchColumn());
        var_dump($pid === pdo()->query('SELECT pg_backend_pid()')->fetchColumn());
    },
    'waits' => static function (int $n): string {
        $pdo = pdo([PDO::ATTR_PERSISTENT => true]);
        $pdo->exec("SET weft.n = $n");

        return (string) $pdo->query("SELECT current_setting('weft.n') FROM pg_sleep(0.5)")->fetchColumn();
    },
];
