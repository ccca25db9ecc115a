<?php

/* PDO sqlite: writers of one database wait for each other by polling. */

declare(strict_types=1);

function database(string $file): PDO
{
    $pdo = new PDO("sqlite:$file", options: [PDO::ATTR_TIMEOUT => 20]);
    $pdo->exec('PRAGMA synchronous = OFF'); // the test does not cover the disk
    $pdo->exec('CREATE TABLE IF NOT EXISTS t (n INT)');

    return $pdo;
}

return [
    'prints' => static function (): void {
        $file = tempnam(sys_get_temp_dir(), 'sqlite');
        $one = database($file);
        $two = new PDO("sqlite:$file", options: [PDO::ATTR_TIMEOUT => 0]);
        $one->exec('BEGIN IMMEDIATE');
        try {
            $two->exec('INSERT INTO t VALUES (2)');
        } catch (PDOException $e) {
            echo $e->getMessage(), "\n";
        }
        $one->exec('INSERT INTO t VALUES (1)');
        $one->exec('COMMIT');
        $two->exec('INSERT INTO t VALUES (2)');
        echo json_encode($one->query('SELECT * FROM t')->fetchAll(PDO::FETCH_COLUMN)), "\n";
        unlink($file);
    },
    'waits' => static function (int $n): string {
        $file = sys_get_temp_dir() . "/busy-$n-" . bin2hex(random_bytes(4));
        $holder = database($file);
        $holder->exec('BEGIN IMMEDIATE');
        $waiter = new PDO("sqlite:$file", options: [PDO::ATTR_TIMEOUT => 0]);
        $waiter->exec('PRAGMA busy_timeout = 500');
        try {
            $waiter->exec("INSERT INTO t VALUES ($n)");
        } catch (PDOException) {
            $holder->exec("INSERT INTO t VALUES ($n)");
            $holder->exec('COMMIT');
        }
        $answer = (string) $waiter->query('SELECT n FROM t')->fetchColumn();
        unlink($file);

        return $answer;
    },
];
