<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Pool;

/**
 * A pool of mysqli connections. Each that is returned is rolled back; with $full, reset as a whole by change_user.
 */
final class MysqliPool
{
    /** @var Pool<\mysqli> */
    public readonly Pool $pool;

    /**
     * @param array<int, mixed> $options for mysqli::options()
     * @param bool $full reset variables, locks, temporary tables and the selected database too
     * @param int $statementsMax prepared statements kept per connection for the next leases, 0 for none; see KeptMysqli
     * @param int|float ...$limits max, min, idleTimeout, ageMax, waitTimeout, waitersMax: see Pool::__construct()
     */
    public function __construct(
        ?string $hostname = null,
        #[\SensitiveParameter] ?string $username = null,
        #[\SensitiveParameter] ?string $password = null,
        ?string $database = null,
        ?int $port = null,
        ?string $socket = null,
        string $charset = 'utf8mb4',
        array $options = [],
        bool $full = false,
        int $statementsMax = 0,
        int|float ...$limits,
    ) {
        $connector = new MysqliConnector(
            $hostname,
            $username,
            $password,
            $database,
            $port,
            $socket,
            $charset,
            $options,
            $full,
            $statementsMax,
        );
        $this->pool = new Pool($connector, ...$limits, name: 'mysqli');
    }

    /**
     * Runs $work with a connection of its own.
     *
     * @template T
     * @param callable(\mysqli): T $work
     * @return T
     */
    public function with(callable $work, ?float $timeout = null): mixed
    {
        return $this->pool->with($work, $timeout);
    }

    /** Takes a connection: release() or discard() it. */
    public function acquire(?float $timeout = null): \mysqli
    {
        return $this->pool->acquire($timeout);
    }

    public function release(\mysqli $connection): void
    {
        $this->pool->release($connection);
    }

    public function discard(\mysqli $connection): void
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
