<?php

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'open' => static fn (): mysqli => connect('p:127.0.0.1'),
    'ask' => static fn (mysqli $mysqli, string $text): string => $mysqli->execute_query('SELECT ?', [$text])->fetch_column(),
    'slow' => static fn (mysqli $mysqli): mixed => $mysqli->query("SELECT 'alice' FROM (SELECT SLEEP(2)) AS slept"),
    'half' => static function (mysqli $mysqli): mixed {
        $result = $mysqli->query("SELECT 'alice' FROM seq_1_to_100000", MYSQLI_USE_RESULT);
        $result->fetch_row();

        return [$mysqli, $result];
    },
];
