<?php

/* mysqli::multi_query(). */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $mysqli = connect();
        $mysqli->multi_query('SELECT 1; DO 0; SELECT seq FROM seq_1_to_3; SELECT nonsense');
        try {
            do {
                $result = $mysqli->store_result();
                if ($result === false) {
                    echo "no rows\n";
                } else {
                    lines($result);
                }
            } while ($mysqli->next_result());
        } catch (mysqli_sql_exception $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $mysqli = connect();
        $mysqli->multi_query("SELECT SLEEP(0.25); SELECT $n + SLEEP(0.25)");
        $mysqli->store_result();
        $mysqli->next_result();

        return (string) $mysqli->store_result()->fetch_column();
    },
];
