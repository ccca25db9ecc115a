<?php

/* mysqli, unbuffered results. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $mysqli = connect();
        $result = $mysqli->query('SELECT seq, REPEAT("x", 2000) FROM seq_1_to_5000', MYSQLI_USE_RESULT);
        $sum = $bytes = 0;
        while ([$seq, $text] = $result->fetch_row()) {
            $sum += $seq;
            $bytes += strlen($text);
        }
        var_dump($sum, $bytes, $result->num_rows);
        $mysqli->real_query('SELECT 7');
        lines($mysqli->use_result());
    },
    'waits' => static function (int $n): string {
        $mysqli = connect();
        $result = $mysqli->query("SELECT $n + SLEEP(0.25), REPEAT('x', 70000) FROM seq_1_to_2", MYSQLI_USE_RESULT);
        $first = $result->fetch_row()[0];
        $second = $result->fetch_row()[0];

        return (string) ($first === $second ? $first : "$first, then $second");
    },
];
