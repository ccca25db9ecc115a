<?php

/* mysqli, asynchronous queries and mysqli_poll(). */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $all = [];
        foreach ([30, 20, 10] as $i => $milliseconds) {
            $all[$i] = connect();
            $all[$i]->query("SELECT $i, SLEEP($milliseconds / 1000)", MYSQLI_ASYNC);
        }
        $results = [];
        $waiting = $all;
        while ($waiting !== []) {
            $read = $error = $reject = $waiting;
            if (mysqli_poll($read, $error, $reject, 10) === 0) {
                echo "nothing in 10 s\n";
            }
            foreach ($read as $mysqli) {
                $row = $mysqli->reap_async_query()->fetch_row();
                $results[$row[0]] = $row;
                unset($waiting[array_search($mysqli, $waiting, true)]);
            }
        }
        ksort($results);
        echo json_encode($results), "\n";
        // The poll times out.
        $lock = bin2hex(random_bytes(8));
        $all[1]->query("DO GET_LOCK('$lock', 10)");
        $all[0]->query("SELECT GET_LOCK('$lock', 30)", MYSQLI_ASYNC);
        $read = $error = $reject = [$all[0]];
        var_dump(mysqli_poll($read, $error, $reject, 0, 1000));
        $all[1]->query("DO RELEASE_LOCK('$lock')");
        echo json_encode($all[0]->reap_async_query()->fetch_row()), "\n";
    },
    'waits' => static function (int $n): string {
        $mysqli = connect();
        $mysqli->query("SELECT $n + SLEEP(0.5)", MYSQLI_ASYNC);
        do {
            $read = $error = $reject = [$mysqli];
        } while (mysqli_poll($read, $error, $reject, 10) === 0);

        return (string) $mysqli->reap_async_query()->fetch_column();
    },
];
