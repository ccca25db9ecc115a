<?php

declare(strict_types=1);

namespace Popup\Cache;

use Popup\Background;

/**
 * Tells the workers of all hosts that configurations have changed, through Redis.
 *
 * Without Redis there is one host, and SharedFile is enough. A message may be lost (Redis keeps none for an absent client): the
 * cache asks the database now and then, and after each new subscription.
 */
final class Bus
{
    private const CHANNEL = 'popup:configurations';

    private const AGAIN_S = 1.0;

    /** @param \Closure(): \Redis $connect */
    public function __construct(private readonly \Closure $connect, private readonly ConfigurationCache $cache) {}

    /** Starts the coroutine that listens. At boot. */
    public function start(): void
    {
        // While Redis is away, what has changed comes with the next refresh.
        Background::every(self::AGAIN_S, 'listening for changed configurations', function (): void {
            $redis = ($this->connect)();
            $redis->setOption(\Redis::OPT_READ_TIMEOUT, -1);
            $redis->subscribe([self::CHANNEL], function (\Redis $redis, string $channel, string $version): void {
                $this->cache->invalidate((int) $version);
            });
        });
    }

    /** Says it to all hosts. A failure costs them some seconds of age, not the change. */
    public function publish(int $version): void
    {
        try {
            ($this->connect)()->publish(self::CHANNEL, (string) $version);
        } catch (\RedisException $error) {
            error_log("popup: other hosts see the change with their next refresh: {$error->getMessage()}");
        }
    }
}
