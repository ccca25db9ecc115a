<?php

/* phpredis: commands of each kind, large values, scripts, errors; and a script that keeps the server busy. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/redis.php';

return [
    'seconds' => 0.5,
    'prints' => static function (): void {
        $redis = connect();
        [$text, $list, $hash, $set] = array_map(static fn (string $kind): string => $kind . bin2hex(random_bytes(8)), ['t', 'l', 'h', 's']);
        var_dump($redis->set($text, str_repeat('x', 3_000_000)), strlen($redis->get($text)), $redis->append($text, 'y'));
        var_dump($redis->rPush($list, 'a', 'b', 'c'), $redis->lRange($list, 0, -1), $redis->lPop($list));
        var_dump($redis->hMSet($hash, ['one' => 1, 'two' => 2]), $redis->hGetAll($hash), $redis->hIncrBy($hash, 'one', 41));
        var_dump($redis->zAdd($set, 2, 'b', 1, 'a'), $redis->zRange($set, 0, -1, true));
        var_dump($redis->eval('return {KEYS[1] == ARGV[1], 2, {3}}', [$text, $text], 1));
        var_dump($redis->incr($list), $redis->getLastError());
        var_dump($redis->get('nothing'), $redis->del($text, $list, $hash, $set), $redis->ping('pong'));
        try {
            (new Redis())->connect('127.0.0.1', 1);
        } catch (Throwable $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $redis = connect();
        $redis->set("commands$n", $n, ['px' => 500]);
        // WAIT for a replica that does not exist: the server answers after its time-out.
        $redis->rawCommand('WAIT', '1', '500');

        return (string) $n;
    },
];
