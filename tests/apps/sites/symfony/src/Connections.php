<?php

declare(strict_types=1);

namespace App;

use Doctrine\DBAL\Connection;
use Doctrine\Persistence\ConnectionRegistry;

/** The only connection, under the name that the queue asks for. */
final class Connections implements ConnectionRegistry
{
    public function __construct(private Connection $connection)
    {
    }

    public function getDefaultConnectionName(): string
    {
        return 'default';
    }

    public function getConnection($name = null): Connection
    {
        return $this->connection;
    }

    /** @return array<string, Connection> */
    public function getConnections(): array
    {
        return ['default' => $this->connection];
    }

    /** @return array<string, string> */
    public function getConnectionNames(): array
    {
        return ['default' => 'default'];
    }
}
