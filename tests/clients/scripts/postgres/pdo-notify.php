<?php

/* PDO pgsql, LISTEN and pgsqlGetNotify() with its time-out. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $listener = pdo();
        // Each request has its own channel, because others print at the same time.
        $channel = 'c' . bin2hex(random_bytes(8));
        $listener->exec("LISTEN $channel");
        var_dump($listener->pgsqlGetNotify(PDO::FETCH_ASSOC, 10));
        pdo()->exec("NOTIFY $channel, 'hello'");
        $notice = $listener->pgsqlGetNotify(PDO::FETCH_ASSOC, 10_000);
        var_dump($notice['message'] === $channel, $notice['payload']);
    },
    'waits' => static function (int $n): string {
        $listener = pdo();
        $listener->exec("LISTEN waits$n");
        $nothing = $listener->pgsqlGetNotify(PDO::FETCH_ASSOC, 500);
        pdo()->exec("NOTIFY waits$n, '$n'");

        return $nothing === false ? $listener->pgsqlGetNotify(PDO::FETCH_ASSOC, 10_000)['payload'] : 'too early';
    },
];
