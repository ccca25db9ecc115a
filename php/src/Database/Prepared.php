<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A statement of one real connection, and what its last user left in it. One open result at most is read from it;
 * $ticket says whose.
 *
 * @internal
 */
final class Prepared
{
    /** It is being executed. */
    public const EXECUTING = -1;

    /** @var int the SharedPdoStatement's execution that reads from it; 0: nobody uses it */
    public $ticket = 0;

    /** @var int how many parameters are bound to it. PDO cannot unbind, so a user who binds fewer needs a new one. */
    public $bound = 0;

    /** @var bool */
    public $fetchModeSet = false;

    /** @var bool it is in its connection's cache */
    public $kept = false;

    /** @var bool it was used since the cache looked for one to drop */
    public $recent = true;

    /** @var bool the server has prepared it though the client would have: see ServerSide */
    public $server = false;

    /** @var bool it must not be used again */
    public $disposable = false;

    public function __construct(
        public readonly \PDOStatement $statement,
        public readonly string $sql,
        /** Whether it has one result at most, so that its last row is its end. */
        public readonly bool $single,
        /** Whether it changes the session: see Failure::changesSession(). */
        public readonly bool $changes,
    ) {}
}
