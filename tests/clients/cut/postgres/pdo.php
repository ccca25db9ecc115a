<?php

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'open' => static fn (): PDO => pdo([PDO::ATTR_PERSISTENT => true]),
    'ask' => static function (PDO $pdo, string $text): string {
        $statement = $pdo->prepare('SELECT ?::text');
        $statement->execute([$text]);

        return (string) $statement->fetchColumn();
    },
    'slow' => static fn (PDO $pdo): mixed => $pdo->query("SELECT 'alice' FROM pg_sleep(2)")->fetchAll(),
    'half' => static function (PDO $pdo): mixed {
        $pdo->beginTransaction();

        return $pdo->query("DECLARE c CURSOR FOR SELECT 'alice' FROM generate_series(1, 100000)");
    },
];
