<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Pool\Connector;

/**
 * Opens the real connections of a SharedPdo, which returns them only when no transaction and no result is open.
 *
 * @implements Connector<SharedConnection>
 */
final class SharedConnector implements Connector
{
    public function __construct(private readonly PdoConnector $connector, private readonly int $statementsMax) {}

    public function connect(): SharedConnection
    {
        return new SharedConnection(
            $this->connector->connect(),
            $this->statementsMax,
            $this->connector->choosesEmulation(),
            $this->connector->joins(),
        );
    }

    public function healthy(object $resource): bool
    {
        return $this->connector->healthy($resource->pdo);
    }

    public function reset(object $resource): bool
    {
        return true;
    }

    public function broken(object $resource, \Throwable $failure): bool
    {
        return $this->connector->broken($resource->pdo, $failure);
    }

    public function close(object $resource): void
    {
        // PDO says good-bye when the last reference goes.
    }
}
