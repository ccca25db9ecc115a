<?php

declare(strict_types=1);

namespace Weft\Redis;

use Weft\Pool\Connector;

/**
 * Opens, checks and cleans connections of ext-redis. Cleaning: an open MULTI or pipeline is discarded and the database
 * selected again, both without a round trip when nothing is to be done. What a connection watches (WATCH) ends with EXEC, DISCARD or UNWATCH.
 *
 * @implements Connector<\Redis>
 */
final class RedisConnector implements Connector
{
    /** @param array<int, mixed> $options for Redis::setOption() */
    public function __construct(
        private readonly string $host,
        private readonly int $port,
        #[\SensitiveParameter] private readonly string|array|null $auth,
        private readonly int $database,
        private readonly float $connectTimeout,
        private readonly float $readTimeout,
        private readonly array $options,
    ) {}

    public function connect(): \Redis
    {
        $redis = new \Redis();
        if (!$redis->connect($this->host, $this->port, $this->connectTimeout, null, 0, $this->readTimeout)) {
            throw new \RedisException("Cannot connect to Redis at $this->host:$this->port");
        }
        // A connection that was lost is the pool's to replace; the client's own reconnecting would lose its state silently.
        $redis->setOption(\Redis::OPT_MAX_RETRIES, 0);
        if ($this->auth !== null && !$redis->auth($this->auth)) {
            throw new \RedisException("Redis at $this->host:$this->port refused the password");
        }
        foreach ($this->options as $option => $value) {
            $redis->setOption($option, $value);
        }
        if ($this->database !== 0) {
            $redis->select($this->database);
        }

        return $redis;
    }

    public function healthy(object $resource): bool
    {
        return (bool) $resource->ping();
    }

    public function reset(object $resource): bool
    {
        if ($resource->getMode() !== \Redis::ATOMIC) {
            $resource->discard();
        }

        return $resource->getDBNum() === $this->database || $resource->select($this->database);
    }

    public function broken(object $resource, \Throwable $failure): bool
    {
        // RedisException is a lost connection, a time-out in the middle of an answer, or a refusal of the server: the first two count.
        return (
            !$failure instanceof \Exception
            || ($failure instanceof \RedisException && (!$resource->isConnected() || !self::refusal($failure)))
        );
    }

    public function close(object $resource): void
    {
        $resource->close();
    }

    /** Whether it is an error that the server answered in full: "WRONGTYPE …", "NOAUTH …". */
    private static function refusal(\RedisException $failure): bool
    {
        return \preg_match('/^[A-Z]{3,} /', $failure->getMessage()) === 1;
    }
}
