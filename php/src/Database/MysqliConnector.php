<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Pool\Connector;

/**
 * Opens, checks and cleans mysqli connections. mysqli does not tell whether a transaction is open, so cleaning costs a
 * round trip: a rollback, or with $full a change_user, which also clears variables, locks, temporary tables and the selected database.
 *
 * @implements Connector<\mysqli>
 */
final class MysqliConnector implements Connector
{
    /** @param array<int, mixed> $options for mysqli::options() */
    public function __construct(
        private readonly ?string $hostname,
        #[\SensitiveParameter] private readonly ?string $username,
        #[\SensitiveParameter] private readonly ?string $password,
        private readonly ?string $database,
        private readonly ?int $port,
        private readonly ?string $socket,
        private readonly string $charset,
        private readonly array $options,
        private readonly bool $full,
        private readonly int $statementsMax = 0,
    ) {}

    public function connect(): \mysqli
    {
        $mysqli = $this->statementsMax > 0 ? new KeptMysqli() : new \mysqli();
        foreach ($this->options as $option => $value) {
            $mysqli->options($option, $value);
        }
        $connected = $mysqli->real_connect(
            $this->hostname,
            $this->username,
            $this->password,
            $this->database,
            $this->port,
            $this->socket,
        );
        if (!$connected || !$mysqli->set_charset($this->charset)) {
            throw new \mysqli_sql_exception((string) ($mysqli->connect_error ?? $mysqli->error), $mysqli->connect_errno ?: $mysqli->errno);
        }

        if ($mysqli instanceof KeptMysqli) {
            $mysqli->keep($this->statementsMax);
        }

        return $mysqli;
    }

    public function healthy(object $resource): bool
    {
        return @$resource->query('DO 1') !== false;
    }

    public function reset(object $resource): bool
    {
        if ($resource instanceof KeptMysqli) {
            $resource->endLease();
        }
        if (!$this->full) {
            return $resource->rollback();
        }

        return (
            $resource->change_user($this->username ?? '', $this->password ?? '', $this->database) && $resource->set_charset($this->charset)
        );
    }

    public function broken(object $resource, \Throwable $failure): bool
    {
        return ($failure instanceof \mysqli_sql_exception || !$failure instanceof \Exception) && Failure::gone($failure);
    }

    public function close(object $resource): void
    {
        $resource->close();
    }
}
