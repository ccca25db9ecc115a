<?php

/* PDO mysql, unbuffered: rows arrive while they are fetched. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

const UNBUFFERED = [PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false];

return [
    'prints' => static function (): void {
        $pdo = pdo(UNBUFFERED);
        $rows = $pdo->query('SELECT seq, REPEAT("x", 2000) AS text FROM seq_1_to_5000');
        $sum = $bytes = 0;
        foreach ($rows as $row) {
            $sum += $row['seq'];
            $bytes += strlen($row['text']);
        }
        var_dump($sum, $bytes);
        $rows = $pdo->query('SELECT seq FROM seq_1_to_9');
        var_dump($rows->fetchColumn());
        try {
            $pdo->query('SELECT 1');
        } catch (PDOException $e) {
            echo $e->errorInfo[1], "\n";
        }
        $rows->closeCursor();
        var_dump($pdo->query('SELECT 7')->fetchColumn());
    },
    'waits' => static function (int $n): string {
        $pdo = pdo(UNBUFFERED);
        // The server sends large rows as soon as they are ready.
        $rows = $pdo->query("SELECT $n + SLEEP(0.25) AS n, REPEAT('x', 70000) FROM seq_1_to_2");
        $first = $rows->fetchColumn();
        $second = $rows->fetchColumn();

        return (string) ($first === $second ? $first : "$first, then $second");
    },
];
