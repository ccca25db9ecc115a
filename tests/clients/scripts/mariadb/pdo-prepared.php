<?php

/* PDO mysql, binary protocol: the server prepares the statements. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $pdo = pdo([PDO::ATTR_EMULATE_PREPARES => false]);
        $pdo->exec('CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, price DECIMAL(8,2), at DATETIME, data LONGBLOB)');
        $insert = $pdo->prepare('INSERT INTO t VALUES (:id, :price, :at, :data)');
        foreach ([1, 2, 3] as $id) {
            $insert->execute(['id' => $id, 'price' => $id * 1.25, 'at' => "2024-01-0$id 10:00:00", 'data' => random_bytes(100_000 * $id)]);
        }
        $select = $pdo->prepare('SELECT id, price, at, LENGTH(data) AS length FROM t WHERE id > ? ORDER BY id');
        foreach ([0, 2, 9] as $above) {
            $select->execute([$above]);
            echo json_encode($select->fetchAll(PDO::FETCH_ASSOC)), "\n";
        }
        try {
            $insert->execute(['id' => 1, 'price' => 0, 'at' => null, 'data' => '']);
        } catch (PDOException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $select = pdo([PDO::ATTR_EMULATE_PREPARES => false])->prepare('SELECT ? + SLEEP(?)');
        $select->execute([$n, 0.5]);

        return (string) $select->fetchColumn();
    },
];
