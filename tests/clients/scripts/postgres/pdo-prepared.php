<?php

/* PDO pgsql, prepared by the server; a cursor. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $pdo = pdo();
        $select = $pdo->prepare('SELECT n, n * :factor AS product FROM generate_series(1, :last) n');
        foreach ([2, 3] as $last) {
            $select->execute(['factor' => 10, 'last' => $last]);
            echo json_encode($select->fetchAll(PDO::FETCH_ASSOC)), "\n";
        }
        $pdo->beginTransaction();
        $cursor = $pdo->prepare('SELECT n FROM generate_series(1, 5) n', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
        $cursor->execute();
        var_dump($cursor->fetchColumn(), $cursor->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_LAST), $cursor->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_PRIOR));
        $pdo->commit();
        $object = $pdo->beginTransaction() ? $pdo->pgsqlLOBCreate() : null;
        $stream = $pdo->pgsqlLOBOpen($object, 'w');
        fwrite($stream, str_repeat('large ', 50_000));
        fclose($stream);
        var_dump(md5(stream_get_contents($pdo->pgsqlLOBOpen($object, 'r'))));
        $pdo->rollBack();
    },
    'waits' => static function (int $n): string {
        $select = pdo()->prepare('SELECT CAST(? AS INT) FROM pg_sleep(?)');
        $select->execute([$n, 0.5]);

        return (string) $select->fetchColumn();
    },
];
