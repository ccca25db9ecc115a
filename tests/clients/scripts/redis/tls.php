<?php

/* phpredis over TLS. */

declare(strict_types=1);

function secure(): Redis
{
    $redis = new Redis();
    $context = ['stream' => ['cafile' => getenv('REDIS_CERTIFICATE')]];
    $redis->connect('tls://127.0.0.1', (int) getenv('REDIS_TLS_PORT'), 10, null, 0, 0, $context);

    return $redis;
}

return [
    'seconds' => 2.0, // includes a hundred handshakes
    'prints' => static function (): void {
        $redis = secure();
        $key = 'tls' . bin2hex(random_bytes(8));
        var_dump($redis->set($key, str_repeat('0123456789', 300_000)), md5($redis->get($key)), $redis->del($key));
    },
    'waits' => static fn (int $n): string => secure()->blPop(["tls$n"], 2) === [] ? (string) $n : 'too early',
];
