<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A statement of a SharedPdo. It is executed on whatever connection its coroutine gets, by a real statement from that
 * connection's cache; the connection is kept until the result is read: by the last row, fetchAll(), closeCursor(), the
 * next execute(), or the end of this object.
 *
 * Invariant: what one user bound, set or left unread is never seen by the next user of the real statement.
 */
final class SharedPdoStatement extends \PDOStatement
{
    public string $queryString = '';

    private static int $tickets = 0;

    /** The result that is being read; only while its ticket is ours. */
    private ?Prepared $prepared = null;

    private int $ticket = 0;

    private ?Session $session = null;

    /** Rows not fetched yet; negative: unknown. */
    private int $left = 0;

    private int $rows = 0;

    private int $columns = 0;

    /** @var array<int|string, array{mixed, int}> */
    private array $bound = [];

    /** @var array<int|string, array{mixed, int, int, mixed}> */
    private array $boundColumns = [];

    /** @var array<int, mixed> */
    private array $fetchMode = [];

    /** @var array<int, mixed> */
    private array $attributes = [];

    /** @var array{string|null, int|string|null, string|null} */
    private array $error = ['', null, null];

    /**
     * @internal SharedPdo makes these.
     * @param array<int, mixed> $options of prepare()
     * @param bool $once of query(): not prepared, not kept
     */
    public function __construct(
        private readonly SharedPdo $shared,
        string $sql,
        private readonly array $options,
        private readonly bool $once,
    ) {
        $query = &$this->queryString; // PDO allows no other way to set it
        $query = $sql;
    }

    public function __destruct()
    {
        if ($this->prepared !== null) {
            $this->end();
        }
    }

    public function execute(?array $params = null): bool
    {
        if ($this->prepared !== null) {
            $this->end();
        }
        $shared = $this->shared;
        $this->session = $session = $shared->session();
        for ($attempt = 1;; ++$attempt) {
            $connection = $shared->lease($session);
            try {
                $prepared = $this->run($connection, $params);
                break;
            } catch (\Throwable $failure) {
                $again = $shared->failed($session, $failure, $this->queryString);
                if (!$again || $attempt > 1) {
                    $this->error = $session->error ?? ['HY000', null, $failure->getMessage()];
                    throw $failure;
                }
            }
        }
        if ($prepared === null) {
            $this->error = $session->error = $this->error[0] === '' ? $connection->pdo->errorInfo() : $this->error;
            $shared->refused($session, $this->error);
            $shared->settle($session);

            return false;
        }
        $this->begin($session, $connection, $prepared);

        return true;
    }

    public function fetch(
        int $mode = \PDO::FETCH_DEFAULT,
        int $cursorOrientation = \PDO::FETCH_ORI_NEXT,
        int $cursorOffset = 0,
    ): mixed {
        $prepared = $this->prepared;
        if ($prepared === null || $prepared->ticket !== $this->ticket) {
            return false;
        }
        try {
            $row = $prepared->statement->fetch($mode, $cursorOrientation, $cursorOffset);
        } catch (\Throwable $failure) {
            $this->shared->failed($this->session, $failure, '');
            throw $failure;
        }
        if ($mode === \PDO::FETCH_LAZY || $cursorOrientation !== \PDO::FETCH_ORI_NEXT) {
            $this->left = -1; // such a row, or the next call, needs the result still
        } elseif (--$this->left === 0 || ($row === false && $this->left < 0 && $prepared->single)) {
            $this->end();
        }

        return $row;
    }

    public function fetchColumn(int $column = 0): mixed
    {
        $prepared = $this->prepared;
        if ($prepared === null || $prepared->ticket !== $this->ticket) {
            return false;
        }
        try {
            $value = $prepared->statement->fetchColumn($column);
        } catch (\Throwable $failure) {
            $this->shared->failed($this->session, $failure, '');
            throw $failure;
        }
        // Where the count is unknown, false may be a value too: then the result ends with the object.
        if (--$this->left === 0) {
            $this->end();
        }

        return $value;
    }

    public function fetchObject(?string $class = \stdClass::class, array $constructorArgs = []): object|false
    {
        $prepared = $this->prepared;
        if ($prepared === null || $prepared->ticket !== $this->ticket) {
            return false;
        }
        try {
            $row = $prepared->statement->fetchObject($class, $constructorArgs);
        } catch (\Throwable $failure) {
            $this->shared->failed($this->session, $failure, '');
            throw $failure;
        }
        if (--$this->left === 0 || ($row === false && $this->left < 0 && $prepared->single)) {
            $this->end();
        }

        return $row;
    }

    public function fetchAll(int $mode = \PDO::FETCH_DEFAULT, mixed ...$args): array
    {
        $prepared = $this->prepared;
        if ($prepared === null || $prepared->ticket !== $this->ticket) {
            return [];
        }
        try {
            $rows = $prepared->statement->fetchAll($mode, ...$args);
        } catch (\Throwable $failure) {
            $this->shared->failed($this->session, $failure, '');
            throw $failure;
        }
        if ($prepared->single) {
            $this->end();
        }

        return $rows;
    }

    public function getIterator(): \Iterator
    {
        while (($row = $this->fetch()) !== false) {
            yield $row;
        }
    }

    public function nextRowset(): bool
    {
        if ($this->prepared === null || $this->prepared->ticket !== $this->ticket) {
            return false;
        }
        $statement = $this->prepared->statement;
        try {
            $more = $statement->nextRowset();
        } catch (\Throwable $failure) {
            $this->shared->failed($this->session, $failure, '');
            throw $failure;
        }
        if ($more) {
            [$this->columns, $this->rows, $this->left] = [$statement->columnCount(), $statement->rowCount(), -1];
        } else {
            $this->end();
        }

        return $more;
    }

    public function closeCursor(): bool
    {
        if ($this->prepared !== null) {
            $this->end();
        }

        return true;
    }

    public function rowCount(): int
    {
        return $this->rows;
    }

    public function columnCount(): int
    {
        return $this->columns;
    }

    /** Before the last row is fetched: afterwards the result belongs to nobody. */
    public function getColumnMeta(int $column): array|false
    {
        if ($this->prepared === null || $this->prepared->ticket !== $this->ticket) {
            return false;
        }

        return $this->prepared->statement->getColumnMeta($column);
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
        $this->boundColumns[$column] = [&$var, $type, $maxLength, $driverOptions];
        if ($this->prepared !== null && $this->prepared->ticket === $this->ticket) {
            $this->bindColumns($this->prepared);
        }

        return true;
    }

    public function setFetchMode(int $mode, mixed ...$args): bool
    {
        $this->fetchMode = [$mode, ...$args];
        if ($this->prepared !== null && $this->prepared->ticket === $this->ticket) {
            $this->prepared->fetchModeSet = true;
            $this->prepared->statement->setFetchMode($mode, ...$args);
        }

        return true;
    }

    public function setAttribute(int $attribute, mixed $value): bool
    {
        $this->attributes[$attribute] = $value;

        return true;
    }

    public function getAttribute(int $name): mixed
    {
        if (isset($this->attributes[$name])) {
            return $this->attributes[$name];
        }
        $open = $this->prepared !== null && $this->prepared->ticket === $this->ticket;

        return $open ? $this->prepared->statement->getAttribute($name) : false;
    }

    public function errorCode(): ?string
    {
        return $this->error[0] === '' ? null : (string) $this->error[0];
    }

    public function errorInfo(): array
    {
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
        if ($this->once) {
            $prepared = $connection->query($this->queryString);
            if ($prepared !== null && ($this->fetchMode !== [] || $this->boundColumns !== [])) {
                $this->adapt($connection, $prepared);
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
        $prepared->disposable = $prepared->disposable || $this->options !== [] || $this->attributes !== [];
        if ($params === null) {
            foreach ($this->bound as $name => [$value, $type]) {
                $prepared->statement->bindValue($name, $value, $type);
            }
        }
        if ($prepared->fetchModeSet || $this->fetchMode !== [] || $this->boundColumns !== [] || $this->attributes !== []) {
            $this->adapt($connection, $prepared);
        }
        if ($prepared->statement->execute($params)) {
            return $prepared;
        }
        $this->error = $prepared->statement->errorInfo();

        return null;
    }

    /** The rare things: gives the real statement this one's fetch mode, columns and attributes. */
    private function adapt(SharedConnection $connection, Prepared $prepared): void
    {
        foreach ($this->attributes as $attribute => $value) {
            $prepared->statement->setAttribute($attribute, $value);
        }
        if ($this->fetchMode !== []) {
            $prepared->statement->setFetchMode(...$this->fetchMode);
            $prepared->fetchModeSet = true;
        } elseif ($prepared->fetchModeSet) {
            $default = $connection->pdo->getAttribute(\PDO::ATTR_DEFAULT_FETCH_MODE);
            $prepared->statement->setFetchMode($default);
            $prepared->fetchModeSet = false;
        }
        $this->bindColumns($prepared);
    }

    private function bindColumns(Prepared $prepared): void
    {
        foreach ($this->boundColumns as $column => [&$variable, $type, $length, $options]) {
            $prepared->statement->bindColumn($column, $variable, $type, $length, $options);
            $prepared->disposable = true;
        }
    }

    /** It has run: notes what is there to be read, and keeps the connection while there is something. */
    private function begin(Session $session, SharedConnection $connection, Prepared $prepared): void
    {
        $this->error = ['00000', null, null];
        $statement = $prepared->statement;
        $this->columns = $statement->columnCount();
        $this->rows = $statement->rowCount();
        if ($prepared->changes) {
            $session->changed = true;
        }
        if ($this->columns === 0 && $prepared->single) {
            $this->left = 0;
            $this->shared->wrote($session, $connection);
            $connection->keep($prepared);
            $this->shared->settle($session);

            return;
        }
        $session->error = null;
        $session->used = true;
        $this->left = $prepared->single && $connection->buffered ? $this->rows : -1;
        $prepared->ticket = $this->ticket = ++self::$tickets;
        $session->cursors[$this->ticket] = $prepared;
        $this->prepared = $prepared;
        if ($this->left === 0) {
            $this->end();
        }
    }

    private function end(): void
    {
        $prepared = $this->prepared;
        $this->prepared = null;
        if ($prepared->ticket !== $this->ticket) {
            return; // its coroutine has ended, or its connection has gone
        }
        $this->shared->endCursor($this->session, $prepared);
        unset($prepared); // a statement that is not kept ends while the connection is ours
        $this->shared->settle($this->session);
    }
}
