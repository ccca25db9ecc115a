<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A statement of one real connection, and what its last user left in it. It is in its connection's cache, or one open
 * result is read from it; $ticket says whose.
 *
 * @internal
 */
final class Prepared
{
    /** The SharedPdoStatement's execution that reads from it; 0 for none. */
    public int $ticket = 0;

    /** How many parameters are bound to it. PDO cannot unbind, so a user who binds fewer needs a new one. */
    public int $bound = 0;

    public bool $fetchModeSet = false;

    /** Must not be used again. */
    public bool $disposable = false;

    public function __construct(
        public readonly \PDOStatement $statement,
        public readonly string $sql,
        /** Whether it has one result at most, so that its last row is its end. */
        public readonly bool $single,
        /** Whether it changes the session: see Failure::changesSession(). */
        public readonly bool $changes,
    ) {}
}
