<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * The result of a SharedPdoStatement: what is fetched, and when nothing is left to fetch. The connection is kept until the
 * result is read: by the last row, fetchAll(), closeCursor(), the next execute(), or the end of the statement object.
 *
 * It must not know how a statement is prepared and executed. Invariant: a result is read only while its ticket is the one
 * in its real statement; once the connection has gone or the coroutine has ended, there is nothing to read.
 *
 * @internal
 */
abstract class StatementResult extends \PDOStatement
{
    private static int $tickets = 0;

    protected Leases $leases;

    /** The real statement that the result is read from; only while its ticket is ours. */
    protected ?Prepared $prepared = null;

    private int $ticket = 0;

    protected Session $session;

    /** Rows not fetched yet; negative: unknown. */
    private int $left = 0;

    private int $rows = 0;

    private int $columns = 0;

    public function __destruct()
    {
        if ($this->prepared !== null) {
            $this->end();
        }
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
            $this->leases->failed($this->session, $failure, '');
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
            $this->leases->failed($this->session, $failure, '');
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
            $this->leases->failed($this->session, $failure, '');
            throw $failure;
        }
        if (--$this->left === 0 || ($row === false && $this->left < 0 && $prepared->single)) {
            $this->end();
        }

        return $row ?? false;
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
            $this->leases->failed($this->session, $failure, '');
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
        if (!$this->isOpen()) {
            return false;
        }
        $statement = $this->prepared->statement;
        try {
            $more = $statement->nextRowset();
        } catch (\Throwable $failure) {
            $this->leases->failed($this->session, $failure, '');
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

    /** Only before the last row is fetched: afterwards the result has gone. */
    public function getColumnMeta(int $column): array|false
    {
        if (!$this->isOpen()) {
            return false;
        }

        return $this->prepared->statement->getColumnMeta($column);
    }

    /**
     * Whether there is a result to be read.
     *
     * @assert-if-true !null $this->prepared
     */
    protected function isOpen(): bool
    {
        return $this->prepared !== null && $this->prepared->ticket === $this->ticket;
    }

    /** After a statement has run: notes what there is to read, and keeps the connection while there is something. */
    protected function begin(Session $session, SharedConnection $connection, Prepared $prepared): void
    {
        $statement = $prepared->statement;
        $this->columns = $statement->columnCount();
        $this->rows = $statement->rowCount();
        if ($prepared->changes) {
            $session->changed = true;
        }
        if ($this->columns === 0 && $prepared->single) {
            $this->left = 0;
            $session->wrote($connection);
            $connection->keep($prepared);
            $this->leases->settle($session);

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

    protected function end(): void
    {
        $prepared = $this->prepared;
        $this->prepared = null;
        if ($prepared === null || $prepared->ticket !== $this->ticket) {
            return; // its coroutine has ended, or its connection has gone
        }
        $this->leases->endCursor($this->session, $prepared);
        unset($prepared); // a statement that is not kept ends while the connection is ours
        $this->leases->settle($this->session);
    }
}
