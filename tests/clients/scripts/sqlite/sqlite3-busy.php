<?php

/* ext-sqlite3: busyTimeout(), and a callback that waits within a query. */

declare(strict_types=1);

function database(string $file): SQLite3
{
    $database = new SQLite3($file);
    $database->exec('PRAGMA synchronous = OFF'); // the test does not cover the disk
    $database->exec('CREATE TABLE IF NOT EXISTS t (n INT)');

    return $database;
}

return [
    'prints' => static function (): void {
        $file = tempnam(sys_get_temp_dir(), 'sqlite');
        $one = database($file);
        $two = database($file);
        $one->exec('BEGIN IMMEDIATE');
        try {
            $two->exec('INSERT INTO t VALUES (2)');
        } catch (ErrorException $e) {
            echo $e->getMessage(), "\n";
        }
        $one->exec('COMMIT');
        $two->createFunction('later', static function (int $n): int {
            usleep(1_000);

            return $n * 2;
        });
        var_dump($two->querySingle('SELECT later(21)'));
        $one->close();
        $two->close();
        unlink($file);
    },
    'waits' => static function (int $n): string {
        $file = sys_get_temp_dir() . "/busy3-$n-" . bin2hex(random_bytes(4));
        $holder = database($file);
        $holder->exec('BEGIN IMMEDIATE');
        $waiter = new SQLite3($file);
        $waiter->busyTimeout(500);
        $written = @$waiter->exec("INSERT INTO t VALUES ($n)");
        if (!$written) {
            $holder->exec("INSERT INTO t VALUES ($n)");
            $holder->exec('COMMIT');
        }
        $answer = (string) $waiter->querySingle('SELECT n FROM t');
        unlink($file);

        return $answer;
    },
];
