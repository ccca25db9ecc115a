<?php

/* phpredis, pconnect(): requests that run at the same time each have their own connection. */

declare(strict_types=1);

function kept(): Redis
{
    $redis = new Redis();
    $redis->pconnect('127.0.0.1', (int) getenv('REDIS_PORT'));

    return $redis;
}

return [
    'seconds' => 1.0,
    'prints' => static function (): void {
        $redis = kept();
        $id = $redis->rawCommand('CLIENT', 'ID');
        $other = kept();
        var_dump($other->rawCommand('CLIENT', 'ID') === $id);
        $redis->close();
        $again = kept();
        var_dump($again->rawCommand('CLIENT', 'ID') === $id);
    },
    'waits' => static function (int $n): string {
        $redis = kept();
        $redis->rawCommand('CLIENT', 'SETNAME', "n$n");
        $redis->blPop(["persistent$n"], 1);

        return substr($redis->rawCommand('CLIENT', 'GETNAME'), 1);
    },
];
