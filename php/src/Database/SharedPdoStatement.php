<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A statement of a SharedPdo. It is executed on whichever connection its coroutine gets, by a real statement from that
 * connection's cache. StatementResult reads what it returns.
 *
 * Invariant: what one user bound, set or left unread is never seen by the next user of the real statement.
 */
final class SharedPdoStatement extends StatementResult
{
    public string $queryString = '';

    /** @var array<int|string, array{mixed, int}> */
    private array $bound = [];

    /** null: only values were set. */
    private ?StatementSettings $settings = null;

    /** @var array<array-key, mixed> PDO's errorInfo */
    private array $error = ['', null, null];

    /**
     * @internal SharedPdo makes these.
     * @param array<int, mixed> $options of prepare()
     * @param bool $once of query(): not prepared, not kept
     */
    public function __construct(
        Leases $leases,
        string $sql,
        private readonly array $options,
        private readonly bool $once,
    ) {
        $this->leases = $leases;
        $query = &$this->queryString; // PDO allows no other way to set it
        $query = $sql;
    }

    public function execute(?array $params = null): bool
    {
        if ($this->prepared !== null) {
            $this->end();
        }
        $leases = $this->leases;
        $this->session = $session = $leases->session();
        $prepared = null;
        for ($attempt = 1;; ++$attempt) {
            $connection = $leases->lease($session);
            try {
                $prepared = $this->run($connection, $params);
                break;
            } catch (\Throwable $failure) {
                $again = $leases->failed($session, $failure, $this->queryString);
                if (!$again || $attempt > 1) {
                    $this->error = $session->error ?? ['HY000', null, $failure->getMessage()];
                    throw $failure;
                }
            }
        }
        if ($prepared === null) {
            $this->error = $session->error = $this->error[0] === '' ? $connection->pdo->errorInfo() : $this->error;
            $leases->refused($session, $this->error);
            $leases->settle($session);

            return false;
        }
        $this->error = ['00000', null, null];
        $this->begin($session, $connection, $prepared);

        return true;
    }

    public function bindValue(int|string $param, mixed $value, int $type = \PDO::PARAM_STR): bool
    {
        $this->bound[\is_string($param) ? \ltrim($param, ':') : $param] = [$value, $type];

        return true;
    }

    public function bindParam(
        int|string $param,
        mixed &$var,
        int $type = \PDO::PARAM_STR,
        int $maxLength = 0,
        mixed $driverOptions = null,
    ): bool {
        if ($type & \PDO::PARAM_INPUT_OUTPUT) {
            throw new \PDOException('Output parameters need the real connection: use SharedPdo::hold()');
        }
        $this->bound[\is_string($param) ? \ltrim($param, ':') : $param] = [&$var, $type];

        return true;
    }

    public function bindColumn(
        int|string $column,
        mixed &$var,
        int $type = \PDO::PARAM_STR,
        int $maxLength = 0,
        mixed $driverOptions = null,
    ): bool {
        $this->settings ??= new StatementSettings();
        $this->settings->columns[$column] = [&$var, $type, $maxLength, $driverOptions];
        if ($this->isOpen()) {
            $this->settings->bindColumns($this->prepared);
        }

        return true;
    }

    public function setFetchMode(int $mode, mixed ...$args): true
    {
        $this->settings ??= new StatementSettings();
        $this->settings->fetchMode = [$mode, $args];
        if ($this->isOpen()) {
            $this->prepared->fetchModeSet = true;
            $this->prepared->statement->setFetchMode($mode, ...$args);
        }

        return true;
    }

    public function setAttribute(int $attribute, mixed $value): bool
    {
        $this->settings ??= new StatementSettings();
        $this->settings->attributes[$attribute] = $value;

        return true;
    }

    public function getAttribute(int $name): mixed
    {
        if (isset($this->settings->attributes[$name])) {
            return $this->settings->attributes[$name];
        }

        return $this->isOpen() ? $this->prepared->statement->getAttribute($name) : false;
    }

    public function errorCode(): ?string
    {
        return $this->error[0] === '' ? null : (string) $this->error[0];
    }

    public function errorInfo(): array
    {
        // @mago-expect analysis:invalid-return-statement -- without an error PDO gives nulls
        return $this->error;
    }

    public function debugDumpParams(): ?bool
    {
        \printf("SQL: [%d] %s\nParams:  %d\n", \strlen($this->queryString), $this->queryString, \count($this->bound));

        return null;
    }

    /** Executes on this connection. null: refused, in PDO's silent error modes. */
    private function run(SharedConnection $connection, ?array $params): ?Prepared
    {
        $settings = $this->settings;
        if ($this->once) {
            $prepared = $connection->query($this->queryString);
            if ($prepared !== null && $settings !== null && ($settings->fetchMode !== null || $settings->columns !== [])) {
                $settings->apply($connection, $prepared);
            }

            return $prepared;
        }
        $sql = $this->queryString;
        $prepared = $this->options === [] ? $connection->take($sql) : $connection->prepare($sql, $this->options);
        $count = \count($params ?? $this->bound);
        if ($prepared !== null && $prepared->bound > $count) {
            $prepared = $connection->prepare($sql, $this->options);
        }
        if ($prepared === null) {
            return null;
        }
        $prepared->bound = $count;
        if ($this->options !== []) {
            $prepared->disposable = true;
        }
        if ($params === null) {
            foreach ($this->bound as $name => [$value, $type]) {
                $prepared->statement->bindValue($name, $value, $type);
            }
        }
        if ($settings !== null || $prepared->fetchModeSet) {
            ($settings ?? new StatementSettings())->apply($connection, $prepared);
        }
        if ($prepared->statement->execute($params)) {
            return $prepared;
        }
        $this->error = $prepared->statement->errorInfo();

        return null;
    }
}
