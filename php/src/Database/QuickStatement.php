<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * The usual course of a SharedPdoStatement. Where coroutines run, weft has this class natively: it executes and reads without
 * PHP code while a connection is idle and has the statement prepared, and calls these methods otherwise. Elsewhere they do all.
 *
 * @internal
 */
abstract class QuickStatement extends \PDOStatement
{
    public string $queryString = '';

    public function execute(?array $params = null): bool
    {
        return $this->executeAny($params);
    }

    public function fetch(
        int $mode = \PDO::FETCH_DEFAULT,
        int $cursorOrientation = \PDO::FETCH_ORI_NEXT,
        int $cursorOffset = 0,
    ): mixed {
        return $this->fetchAny($mode, $cursorOrientation, $cursorOffset);
    }

    public function fetchColumn(int $column = 0): mixed
    {
        return $this->fetchColumnAny($column);
    }

    public function fetchAll(int $mode = \PDO::FETCH_DEFAULT, mixed ...$args): array
    {
        return $this->fetchAllAny($mode, ...$args);
    }

    /** Notes the statement's text. */
    protected function tell(string $text): void
    {
        $query = &$this->queryString; // PDO allows no other way to set it
        $query = $text;
    }

    /** @param array<array-key, mixed>|null $params */
    abstract protected function executeAny(?array $params = null): bool;

    abstract protected function fetchAny(
        int $mode = \PDO::FETCH_DEFAULT,
        int $cursorOrientation = \PDO::FETCH_ORI_NEXT,
        int $cursorOffset = 0,
    ): mixed;

    abstract protected function fetchColumnAny(int $column = 0): mixed;

    /** @return array<array-key, mixed> */
    abstract protected function fetchAllAny(int $mode = \PDO::FETCH_DEFAULT, mixed ...$args): array;
}
