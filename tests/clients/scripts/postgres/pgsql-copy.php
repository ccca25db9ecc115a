<?php

/* ext-pgsql, COPY. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/postgres.php';

return [
    'forks' => true, // the server starts a process for each connection
    'prints' => static function (): void {
        $link = connect();
        pg_query($link, 'CREATE TEMPORARY TABLE t (id INT, text TEXT)');
        $rows = array_map(static fn (int $id): string => "$id\t" . str_repeat('x', 1000), range(1, 3000));
        var_dump(pg_copy_from($link, 't', $rows));
        var_dump(md5(implode('', pg_copy_to($link, 't'))));
        pg_query($link, 'COPY t FROM STDIN');
        pg_put_line($link, "9\tby line\n");
        pg_put_line($link, "\\.\n");
        var_dump(pg_end_copy($link));
        echo json_encode(pg_fetch_row(pg_query($link, 'SELECT COUNT(*), SUM(id) FROM t'))), "\n";
    },
    'waits' => static fn (int $n): string => trim(pg_copy_to(connect(), "(SELECT $n FROM pg_sleep(0.5))")[0]),
];
