<?php

/* PDO pgsql, statements as text: prepares are emulated. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $pdo = pdo([PDO::ATTR_EMULATE_PREPARES => true]);
        $pdo->exec('CREATE TEMPORARY TABLE t (id SERIAL PRIMARY KEY, name TEXT, data BYTEA, list INT[])');
        $insert = $pdo->prepare('INSERT INTO t (name, list) VALUES (?, ?)');
        foreach (['one' => '{1,2}', "it's" => '{}'] as $name => $list) {
            $insert->execute([$name, $list]);
        }
        var_dump($pdo->lastInsertId('t_id_seq'));
        echo json_encode($pdo->query('SELECT * FROM t ORDER BY id')->fetchAll(PDO::FETCH_ASSOC)), "\n";
        var_dump(md5($pdo->query("SELECT repeat('0123456789', 300000)")->fetchColumn()));
        $pdo->beginTransaction();
        $pdo->exec('DELETE FROM t');
        $pdo->rollBack();
        var_dump($pdo->query('SELECT COUNT(*) FROM t')->fetchColumn());
        try {
            $pdo->query('SELECT nonsense');
        } catch (PDOException $e) {
            echo $e->getMessage(), "\n";
        }
        try {
            new PDO('pgsql:host=127.0.0.1;port=1;dbname=weft', 'weft');
        } catch (PDOException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        return (string) pdo()->query("SELECT $n FROM pg_sleep(0.5)")->fetchColumn();
    },
];
