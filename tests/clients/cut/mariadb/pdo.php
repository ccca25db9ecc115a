<?php

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'open' => static fn (): PDO => pdo([PDO::ATTR_PERSISTENT => true, PDO::ATTR_EMULATE_PREPARES => false]),
    'ask' => static function (PDO $pdo, string $text): string {
        $statement = $pdo->prepare('SELECT ?');
        $statement->execute([$text]);

        return (string) $statement->fetchColumn();
    },
    'slow' => static fn (PDO $pdo): mixed => $pdo->query("SELECT 'alice' FROM (SELECT SLEEP(2)) AS slept")->fetchAll(),
    'half' => static function (PDO $pdo): mixed {
        $pdo->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
        $statement = $pdo->query("SELECT 'alice' FROM seq_1_to_100000");
        $statement->fetch();

        return $statement;
    },
];
