<?php

/* phpredis: BLPOP, BRPOPLPUSH and BZPOPMIN, with and without another client that pushes. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/redis.php';

return [
    'seconds' => 1.0,
    'prints' => static function (): void {
        $redis = connect();
        $list = 'list' . bin2hex(random_bytes(8));
        $redis->rPush($list, 'first', 'second');
        var_dump($redis->blPop([$list], 10)[1], $redis->brPoplPush($list, "$list:2", 10), $redis->blPop([$list], 1));
        $redis->zAdd("$list:3", 5, 'five');
        var_dump($redis->bzPopMin("$list:3", 10)[1]);
        $redis->del("$list:2");
        // The client's time-out, shorter than the server's.
        $redis->setOption(Redis::OPT_READ_TIMEOUT, 0.02);
        try {
            var_dump($redis->blPop([$list], 5));
        } catch (RedisException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $redis = connect();
        $none = $redis->blPop(["pops$n"], 1);
        connect()->rPush("pops$n", $n);

        return $none === [] ? $redis->blPop(["pops$n"], 10)[1] : 'too early';
    },
];
