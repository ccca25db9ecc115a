<?php

/* phpredis as the session save handler. */

declare(strict_types=1);

function start(string $id): void
{
    ini_set('session.save_handler', 'redis');
    ini_set('session.save_path', 'tcp://127.0.0.1:' . getenv('REDIS_PORT'));
    ini_set('session.use_cookies', '0');
    session_id($id);
    session_start();
}

return [
    'prints' => static function (): void {
        $id = bin2hex(random_bytes(16));
        start($id);
        $_SESSION['count'] = 41;
        session_write_close();
        session_start();
        var_dump(++$_SESSION['count']);
        session_destroy();
    },
    'waits' => static function (int $n): string {
        start("session$n");
        $_SESSION['n'] = $n;
        usleep(500_000);
        session_write_close();
        session_start();

        return (string) $_SESSION['n'];
    },
];
