<?php

/* PDO mysql, LOAD DATA LOCAL INFILE: the client sends a file. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $pdo = pdo([PDO::MYSQL_ATTR_LOCAL_INFILE => true]);
        $pdo->exec('CREATE TEMPORARY TABLE t (id INT, text TEXT)');
        $file = tempnam(sys_get_temp_dir(), 'load');
        file_put_contents($file, implode('', array_map(static fn (int $id): string => "$id," . str_repeat('x', 500) . "\n", range(1, 5000))));
        var_dump($pdo->exec("LOAD DATA LOCAL INFILE '$file' INTO TABLE t FIELDS TERMINATED BY ','"));
        unlink($file);
        var_dump($pdo->query('SELECT COUNT(*), SUM(id), SUM(LENGTH(text)) FROM t')->fetch(PDO::FETCH_NUM));
    },
    'waits' => static function (int $n): string {
        $pdo = pdo([PDO::MYSQL_ATTR_LOCAL_INFILE => true]);
        $pdo->exec('CREATE TEMPORARY TABLE t (id INT, nothing INT)');
        $file = tempnam(sys_get_temp_dir(), 'load');
        file_put_contents($file, "$n\n");
        $pdo->exec("LOAD DATA LOCAL INFILE '$file' INTO TABLE t (id) SET nothing = SLEEP(0.5)");
        unlink($file);

        return (string) $pdo->query('SELECT id FROM t')->fetchColumn();
    },
];
