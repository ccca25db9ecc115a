<?php

/* phpredis: MULTI, EXEC, WATCH. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/redis.php';

return [
    'prints' => static function (): void {
        $redis = connect();
        $key = 'multi' . bin2hex(random_bytes(8));
        echo json_encode($redis->multi()->set($key, '1')->incrBy($key, 41)->get($key)->exec()), "\n";
        $redis->watch($key);
        connect()->set($key, 'changed');
        var_dump($redis->multi()->set($key, 'lost')->exec(), $redis->get($key));
        $redis->multi()->set($key, 'dropped')->discard();
        var_dump($redis->get($key), $redis->del($key));
    },
    'waits' => static function (int $n): string {
        $redis = connect();
        $redis->watch("multi$n");
        $redis->rawCommand('WAIT', '1', '500');

        return $redis->multi()->set("multi$n", $n)->get("multi$n")->exec()[1];
    },
];
