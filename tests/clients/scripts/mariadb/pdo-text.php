<?php

/* PDO mysql, text protocol: prepares are emulated. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $pdo = pdo();
        $pdo->exec('CREATE TEMPORARY TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), body MEDIUMTEXT)');
        $insert = $pdo->prepare('INSERT INTO t (name, body) VALUES (?, ?)');
        foreach (['one' => 10, 'two' => 3_000_000, "it's" => 0] as $name => $length) {
            $insert->execute([$name, str_repeat('x', $length)]);
        }
        var_dump($pdo->lastInsertId(), $insert->rowCount());
        var_dump($pdo->query('SELECT id, name, LENGTH(body) AS length FROM t ORDER BY id')->fetchAll(PDO::FETCH_ASSOC));
        var_dump(strlen($pdo->query('SELECT body FROM t WHERE id = 2')->fetchColumn()));
        $pdo->beginTransaction();
        $pdo->exec('DELETE FROM t');
        $pdo->rollBack();
        var_dump((int) $pdo->query('SELECT COUNT(*) FROM t')->fetchColumn());
        try {
            $pdo->query('SELECT nonsense');
        } catch (PDOException $e) {
            echo $e->getMessage(), "\n";
        }
        try {
            pdo(where: 'host=127.0.0.1;port=1');
        } catch (PDOException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static fn (int $n): string => (string) pdo()->query("SELECT $n + SLEEP(0.5)")->fetchColumn(),
];
