<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Pool;

/**
 * A pool of plain PDO connections. A transaction that is open when one is returned is rolled back; other state of the
 * session (variables, locks, temporary tables) is not: PDO has no way to reset it. Code that sets such state must end with discard(),
 * or set it in $initial for all connections.
 */
final class PdoPool
{
    /** @var Pool<\PDO> */
    public readonly Pool $pool;

    /**
     * @param array<int, mixed>|null $options PDO's
     * @param list<string> $initial statements that each new connection runs first
     * @param int $statementsMax prepared statements kept per connection for the next leases, 0 for none; see KeptPdo
     * @param int|float ...$limits max, min, idleTimeout, ageMax, waitTimeout, waitersMax: see Pool::__construct()
     */
    public function __construct(
        string $dsn,
        #[\SensitiveParameter] ?string $username = null,
        #[\SensitiveParameter] ?string $password = null,
        ?array $options = null,
        array $initial = [],
        int $statementsMax = 0,
        int|float ...$limits,
    ) {
        $connector = new PdoConnector($dsn, $username, $password, $options, $initial, $statementsMax);
        $this->pool = new Pool($connector, ...$limits, name: \strstr($dsn, ':', true) ?: 'pdo');
    }

    /**
     * Runs $work with a connection of its own.
     *
     * @template T
     * @param callable(\PDO): T $work
     * @return T
     */
    public function with(callable $work, ?float $timeout = null): mixed
    {
        return $this->pool->with($work, $timeout);
    }

    /**
     * Runs $work in a transaction: committed when it returns, rolled back when it throws.
     *
     * @template T
     * @param callable(\PDO): T $work
     * @return T
     */
    public function transaction(callable $work, ?float $timeout = null): mixed
    {
        return $this->pool->with(static function (\PDO $pdo) use ($work): mixed {
            $pdo->beginTransaction();
            $result = $work($pdo);
            $pdo->commit();

            return $result;
        }, $timeout);
    }

    /** Takes a connection: release() or discard() it. */
    public function acquire(?float $timeout = null): \PDO
    {
        return $this->pool->acquire($timeout);
    }

    public function release(\PDO $connection): void
    {
        $this->pool->release($connection);
    }

    public function discard(\PDO $connection): void
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
