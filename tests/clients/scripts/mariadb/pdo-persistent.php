<?php

/* PDO mysql, persistent: requests that run at the same time each have their own connection. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $id = pdo([PDO::ATTR_PERSISTENT => true])->query('SELECT CONNECTION_ID()')->fetchColumn();
        // The first object is no longer in use, but its server connection is reused.
        $again = pdo([PDO::ATTR_PERSISTENT => true]);
        var_dump($id === $again->query('SELECT CONNECTION_ID()')->fetchColumn());
        var_dump($id === pdo()->query('SELECT CONNECTION_ID()')->fetchColumn());
    },
    'waits' => static function (int $n): string {
        $pdo = pdo([PDO::ATTR_PERSISTENT => true]);
        $pdo->exec("SET @n = $n");

        return (string) $pdo->query('SELECT @n + SLEEP(0.5)')->fetchColumn();
    },
];
