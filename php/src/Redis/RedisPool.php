<?php

declare(strict_types=1);

namespace Weft\Redis;

use Weft\Pool;

/** A pool of ext-redis connections. A command that blocks (BLPOP, SUBSCRIBE) holds its connection meanwhile. */
final class RedisPool
{
    /** @var Pool<\Redis> */
    public readonly Pool $pool;

    /**
     * @param string $host name, address, or path of a unix socket (then $port is 0)
     * @param string|array<string>|null $auth a password, or [user, password]
     * @param float $connectTimeout seconds, 0 for none
     * @param float $readTimeout seconds that an answer may take, 0 for default_socket_timeout
     * @param array<int, mixed> $options for Redis::setOption()
     * @param int|float ...$limits max, min, idleTimeout, ageMax, waitTimeout, waitersMax: see Pool::__construct()
     */
    public function __construct(
        string $host = '127.0.0.1',
        int $port = 6379,
        #[\SensitiveParameter] string|array|null $auth = null,
        int $database = 0,
        float $connectTimeout = 5.0,
        float $readTimeout = 0.0,
        array $options = [],
        int|float ...$limits,
    ) {
        $connector = new RedisConnector($host, $port, $auth, $database, $connectTimeout, $readTimeout, $options);
        $this->pool = new Pool($connector, ...$limits, name: 'redis');
    }

    /**
     * Runs $work with a connection of its own.
     *
     * @template T
     * @param callable(\Redis): T $work
     * @return T
     */
    public function with(callable $work, ?float $timeout = null): mixed
    {
        return $this->pool->with($work, $timeout);
    }

    /** Takes a connection: release() or discard() it. */
    public function acquire(?float $timeout = null): \Redis
    {
        return $this->pool->acquire($timeout);
    }

    public function release(\Redis $connection): void
    {
        $this->pool->release($connection);
    }

    public function discard(\Redis $connection): void
    {
        $this->pool->discard($connection);
    }

    /** @return array<string, int|float> see Pool::metrics() */
    public function metrics(): array
    {
        return $this->pool->metrics();
    }

    public function close(): void
    {
        $this->pool->close();
    }
}
