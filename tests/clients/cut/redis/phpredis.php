<?php

declare(strict_types=1);

return [
    'open' => static function (): Redis {
        $redis = new Redis();
        $redis->pconnect('127.0.0.1', (int) getenv('REDIS_PORT'));

        return $redis;
    },
    'ask' => static fn (Redis $redis, string $text): string => (string) $redis->echo($text),
    'slow' => static fn (Redis $redis): mixed => $redis->blPop(['never'], 2),
    'half' => static function (Redis $redis): mixed {
        $redis->multi(Redis::PIPELINE)->echo('alice')->echo('alice');

        return $redis;
    },
];
