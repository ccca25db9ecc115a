<?php

/* mysqli, text protocol. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $mysqli = connect();
        $mysqli->set_charset('utf8mb4');
        $mysqli->query('CREATE TEMPORARY TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20))');
        $mysqli->query("INSERT INTO t (name) VALUES ('one'), ('two'), ('drei')");
        var_dump($mysqli->affected_rows, $mysqli->insert_id, $mysqli->info);
        lines($mysqli->query('SELECT * FROM t'));
        var_dump($mysqli->real_escape_string("it's"), $mysqli->ping());
        try {
            $mysqli->query('SELECT nonsense');
        } catch (mysqli_sql_exception $e) {
            echo $e->getMessage(), "\n";
        }
        $mysqli->change_user('root', '', 'mysql');
        lines($mysqli->query('SELECT DATABASE()'));
    },
    'waits' => static fn (int $n): string => (string) connect()->query("SELECT $n + SLEEP(0.5)")->fetch_column(),
];
