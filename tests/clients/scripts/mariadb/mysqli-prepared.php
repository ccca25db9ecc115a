<?php

/* mysqli, prepared by the server; long data and a cursor. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $mysqli = connect();
        $mysqli->query('CREATE TEMPORARY TABLE t (id INT, data LONGBLOB)');
        $insert = $mysqli->prepare('INSERT INTO t VALUES (?, ?)');
        $id = 1;
        $nothing = null;
        $insert->bind_param('ib', $id, $nothing);
        for ($i = 0; $i < 10; $i++) {
            $insert->send_long_data(1, str_repeat((string) $i, 100_000));
        }
        $insert->execute();
        lines($mysqli->query('SELECT id, LENGTH(data), MD5(data) FROM t'));
        $select = $mysqli->prepare('SELECT seq FROM seq_1_to_100 WHERE seq > ?');
        $select->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
        $select->execute([95]);
        $select->bind_result($seq);
        while ($select->fetch()) {
            echo $seq, "\n";
        }
    },
    'waits' => static function (int $n): string {
        return (string) connect()->execute_query('SELECT ? + SLEEP(?)', [$n, 0.5])->fetch_column();
    },
];
