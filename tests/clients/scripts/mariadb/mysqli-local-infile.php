<?php

/* mysqli, LOAD DATA LOCAL INFILE. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

function loading(): mysqli
{
    $mysqli = mysqli_init();
    $mysqli->options(MYSQLI_OPT_LOCAL_INFILE, 1);
    $mysqli->real_connect('127.0.0.1', 'root', '', 'weft', (int) getenv('MARIADB_PORT'));
    $mysqli->query('CREATE TEMPORARY TABLE t (id INT, nothing INT)');

    return $mysqli;
}

return [
    'prints' => static function (): void {
        $mysqli = loading();
        $file = tempnam(sys_get_temp_dir(), 'load');
        file_put_contents($file, implode("\n", range(1, 100_000)));
        $mysqli->query("LOAD DATA LOCAL INFILE '$file' INTO TABLE t (id)");
        unlink($file);
        var_dump($mysqli->affected_rows, $mysqli->info);
        try {
            $mysqli->query("LOAD DATA LOCAL INFILE '/nowhere' INTO TABLE t (id)");
        } catch (Throwable $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $mysqli = loading();
        $file = tempnam(sys_get_temp_dir(), 'load');
        file_put_contents($file, "$n\n");
        $mysqli->query("LOAD DATA LOCAL INFILE '$file' INTO TABLE t (id) SET nothing = SLEEP(0.5)");
        unlink($file);

        return (string) $mysqli->query('SELECT id FROM t')->fetch_column();
    },
];
