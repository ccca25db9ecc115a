<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Pool\Slot;

/**
 * What one coroutine has of a SharedPdo: the connection it leases, why it still does, and the answers to what it may ask PDO
 * about its last statement.
 *
 * @internal
 */
final class Session
{
    /** @var Slot<SharedConnection>|null */
    public ?Slot $slot = null;

    /** It keeps the connection though nothing needs it: it may ask again before it waits. Others may take it. */
    public bool $loose = false;

    /** Statements in a row for which it has kept the connection while others waited. */
    public int $streak = 0;

    /** @var array<int, Prepared> by ticket: results that are not read to their end */
    public array $cursors = [];

    /** Nested hold() and with(). */
    public int $holds = 0;

    /** A transaction was open after the last statement. */
    public bool $transaction = false;

    /** The transaction's connection has gone; only rollBack() helps. */
    public bool $lost = false;

    /** It has changed the session's state: the connection stays its own until it ends, and ends with it. */
    public bool $changed = false;

    public string|false $lastInsertId = '0';

    /** @var array<array-key, mixed>|null PDO's errorInfo; null: the last call went well */
    public ?array $error = null;

    public bool $used = false;

    /** Notes what PDO is asked for after a statement without rows. */
    public function wrote(SharedConnection $connection): void
    {
        $this->error = null;
        $this->used = true;
        $this->lastInsertId = $connection->driver === 'pgsql' ? false : $connection->pdo->lastInsertId();
    }
}
