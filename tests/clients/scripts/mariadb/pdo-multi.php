<?php

/* PDO mysql, several statements in one query. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $result = pdo()->query('SELECT 1 AS a; SELECT seq AS b FROM seq_1_to_3; DO 0; SELECT 4 AS d');
        do {
            echo $result->columnCount() > 0 ? json_encode($result->fetchAll(PDO::FETCH_ASSOC)) : 'no rows', "\n";
        } while ($result->nextRowset());
        $failing = pdo()->query('SELECT 1; SELECT nonsense');
        try {
            $failing->nextRowset();
        } catch (PDOException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $result = pdo()->query("SELECT SLEEP(0.25); SELECT $n + SLEEP(0.25)");
        $result->nextRowset();

        return (string) $result->fetchColumn();
    },
];
