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
abstract class StatementResult extends QuickStatement
{
    /** @var Leases */
    protected $leases;

    /** @var Prepared|null the real statement that the result is read from; only while its ticket is ours */
    protected $prepared = null;

    /** @var int */
    private $ticket = 0;

    /** @var Session */
    protected $session;

    /** @var int rows not fetched yet; negative: unknown */
    private $left = 0;

    /** @var int */
    private $rows = 0;

    /** @var int */
    private $columns = 0;

    public function __destruct()
    {
        if ($this->prepared !== null) {
            $this->end();
        }
    }

    protected function fetchAny(
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
            $this->readingFailed($failure);
        }
        if ($mode === \PDO::FETCH_LAZY || $cursorOrientation !== \PDO::FETCH_ORI_NEXT) {
            $this->left = -1; // such a row, or the next call, needs the result still
        } elseif (--$this->left === 0 || ($row === false && $this->left < 0 && $prepared->single)) {
            $this->end();
        }

        return $row;
    }

    protected function fetchColumnAny(int $column = 0): mixed
    {
        $prepared = $this->prepared;
        if ($prepared === null || $prepared->ticket !== $this->ticket) {
            return false;
        }
        try {
            $value = $prepared->statement->fetchColumn($column);
        } catch (\Throwable $failure) {
            $this->readingFailed($failure);
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
            $this->readingFailed($failure);
        }
        if (--$this->left === 0 || ($row === false && $this->left < 0 && $prepared->single)) {
            $this->end();
        }

        return $row ?? false;
    }

    protected function fetchAllAny(int $mode = \PDO::FETCH_DEFAULT, mixed ...$args): array
    {
        $prepared = $this->prepared;
        if ($prepared === null || $prepared->ticket !== $this->ticket) {
            return [];
        }
        try {
            $rows = $prepared->statement->fetchAll($mode, ...$args);
        } catch (\Throwable $failure) {
            $this->readingFailed($failure);
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
            $this->readingFailed($failure);
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

    /** @internal */
    protected function readingFailed(\Throwable $failure): never
    {
        $this->leases->failed($this->session, $failure, '');
        throw $failure;
    }

    /**
     * After a statement has run: notes what there is to read, and keeps the connection while there is something.
     *
     * @param Session $session
     * @param SharedConnection $connection
     * @param Prepared $prepared
     */
    protected function begin($session, $connection, $prepared)
    {
        $statement = $prepared->statement;
        $this->columns = $statement->columnCount();
        $this->rows = $statement->rowCount();
        if ($prepared->changes) {
            $session->changed = true;
            $connection->sessionChanged();
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
        $prepared->ticket = $this->ticket = ++$this->leases->tickets;
        if ($session->cursor === null) {
            $session->cursor = $prepared;
        } else {
            $session->cursors[$this->ticket] = $prepared;
        }
        $this->prepared = $prepared;
        if ($this->left === 0) {
            $this->end();
        }
    }

    protected function end()
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
