<?php

/* phpredis: subscribe, publish, and the read time-out of a subscriber. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/redis.php';

/** Publishes "one" as soon as there is a subscriber, and "end", in a separate process. */
function publish(string $channel): mixed
{
    $say = sprintf('redis-cli -p %d PUBLISH %s', getenv('REDIS_PORT'), $channel);

    return popen("until [ \"\$($say one)\" = 1 ]; do sleep 0.01; done; $say end", 'r');
}

return [
    'prints' => static function (): void {
        $channel = 'channel' . bin2hex(random_bytes(8));
        $publisher = publish($channel);
        $redis = connect();
        $redis->setOption(Redis::OPT_READ_TIMEOUT, 10);
        try {
            $redis->subscribe([$channel], static function (Redis $redis, string $channel, string $message): void {
                var_dump($message);
                // The only way out: phpredis 5 continues to read after unsubscribe() and after an exception.
                $message === 'end' && $redis->close();
            });
        } catch (RedisException $e) {
            echo $e->getMessage(), "\n";
        }
        var_dump(trim(stream_get_contents($publisher)), pclose($publisher));
    },
    'waits' => static function (int $n): string {
        $redis = connect();
        $redis->setOption(Redis::OPT_READ_TIMEOUT, 0.5);
        try {
            $redis->subscribe(["waits$n"], static fn (): mixed => throw new LogicException('nobody publishes'));
        } catch (RedisException) {
            return (string) $n;
        }

        return 'no time-out';
    },
];
