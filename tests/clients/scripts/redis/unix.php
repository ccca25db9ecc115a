<?php

/* phpredis over the unix socket. */

declare(strict_types=1);

function near(): Redis
{
    $redis = new Redis();
    $redis->connect(getenv('REDIS_SOCKET'));

    return $redis;
}

return [
    'seconds' => 1.0,
    'prints' => static function (): void {
        $redis = near();
        $key = 'unix' . bin2hex(random_bytes(8));
        var_dump($redis->set($key, str_repeat('0123456789', 300_000)), md5($redis->get($key)), $redis->del($key));
    },
    'waits' => static fn (int $n): string => near()->blPop(["unix$n"], 1) === [] ? (string) $n : 'too early',
];
