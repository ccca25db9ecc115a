<?php

/* mysqli, persistent (p:): requests that run at the same time each have their own connection. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/mariadb.php';

return [
    'prints' => static function (): void {
        $first = connect('p:127.0.0.1');
        $id = $first->thread_id;
        $second = connect('p:127.0.0.1');
        var_dump($second->thread_id === $id);
        $first->close();
        $third = connect('p:127.0.0.1');
        var_dump($third->thread_id === $id, mysqli_get_links_stats()['active_plinks'] > 0);
    },
    'waits' => static function (int $n): string {
        $mysqli = connect('p:127.0.0.1');
        $mysqli->query("SET @n = $n");
        $answer = (string) $mysqli->query('SELECT @n + SLEEP(0.5)')->fetch_column();
        $mysqli->close();

        return $answer;
    },
];
