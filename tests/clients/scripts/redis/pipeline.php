<?php

/* phpredis: pipelines. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/redis.php';

return [
    'prints' => static function (): void {
        $redis = connect();
        $key = 'pipe' . bin2hex(random_bytes(8));
        $pipe = $redis->pipeline();
        for ($i = 0; $i < 1000; $i++) {
            $pipe->rPush($key, str_repeat((string) ($i % 10), 1000));
        }
        $answers = $pipe->lRange($key, 0, -1)->del($key)->exec();
        var_dump(count($answers), $answers[999], md5(implode('', $answers[1000])), $answers[1001]);
    },
    'waits' => static function (int $n): string {
        $redis = connect();
        $answers = $redis->pipeline()->set("pipe$n", $n)->rawCommand('WAIT', '1', '500')->get("pipe$n")->exec();

        return $answers[2];
    },
];
