<?php

/* mysqli: close() while an unbuffered result is open, and what can be done afterwards with it and with the next connection. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

/** What it returns or throws. */
function outcome(Closure $work): string
{
    try {
        return var_export($work(), true);
    } catch (Throwable $thrown) {
        return $thrown::class . ': ' . $thrown->getMessage();
    }
}

return [
    'prints' => static function (): void {
        foreach (['127.0.0.1', 'p:127.0.0.1'] as $host) {
            $mysqli = connect($host);
            $result = $mysqli->query('SELECT seq, REPEAT("x", 2000) FROM seq_1_to_2000', MYSQLI_USE_RESULT);
            echo $host, ': ', $result->fetch_row()[0], "\n";
            echo outcome(fn () => $mysqli->close()), "\n";
            echo outcome(fn () => $mysqli->query('SELECT 1')), "\n";
            // The rows that are left of a persistent one can be read in stock PHP, though whoever has its connection by then
            // reads them, too. In coroutine mode that may be another request, so there the result has ended.
            if ($host === '127.0.0.1') {
                echo outcome(fn () => $result->fetch_row()), "\n";
            }
            echo outcome(fn () => $result->free()), "\n";
            $next = connect($host);
            echo outcome(fn () => $next->query('SELECT 7')->fetch_column()), "\n";
            $next->close();

            $mysqli = connect($host);
            $mysqli->real_query('SELECT seq FROM seq_1_to_3');
            echo outcome(fn () => $mysqli->close()), "\n";
            $next = connect($host);
            echo outcome(fn () => $next->query('SELECT 8')->fetch_column()), "\n";
            $next->close();
        }
    },
    'waits' => static function (int $n): string {
        $mysqli = connect('p:127.0.0.1');
        $result = $mysqli->query("SELECT $n + SLEEP(0.25), REPEAT('x', 70000) FROM seq_1_to_2", MYSQLI_USE_RESULT);
        $first = $result->fetch_row()[0];
        $mysqli->close();
        unset($result, $mysqli);
        $mysqli = connect('p:127.0.0.1');
        $second = $mysqli->query("SELECT $n + SLEEP(0.25)")->fetch_column();
        $mysqli->close();

        return (string) ($first === $second ? $first : "$first, then $second");
    },
];
