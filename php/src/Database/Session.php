<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Pool\Slot;

/**
 * What one coroutine has of a SharedPdo: the connection it leases, why it still does, and the answers to what it may ask PDO
 * about its last statement. Its properties have their types in comments, as elsewhere on the way of a statement: PHP checks a
 * declared type at each write.
 *
 * @internal
 */
final class Session
{
    /** @var Slot<SharedConnection>|null */
    public $slot = null;

    /** @var bool it keeps the connection though nothing needs it: it may ask again before it waits. Others may take it. */
    public $loose = false;

    /** @var int statements in a row for which it has kept the connection while others waited. */
    public $streak = 0;

    /** @var Prepared|null the result that is not read to its end */
    public $cursor = null;

    /** @var array<int, Prepared> by ticket: further ones */
    public $cursors = [];

    /** @var int nested hold(), and statements that are being executed: a parameter may be an object that asks the database itself */
    public $holds = 0;

    /** @var bool a transaction was open after the last statement */
    public $transaction = false;

    /** @var bool the transaction's connection has gone; only rollBack() helps */
    public $lost = false;

    /** @var bool it has changed the session's state: the connection stays its own until it ends, and ends with it. */
    public $changed = false;

    /** @var string|false */
    public $lastInsertId = '0';

    /** @var array<array-key, mixed>|null PDO's errorInfo; null: the last call went well */
    public $error = null;

    /** @var bool */
    public $used = false;

    /** Notes what PDO is asked for after a statement without rows. */
    public function wrote(SharedConnection $connection): void
    {
        $this->error = null;
        $this->used = true;
        $this->lastInsertId = $connection->driver === 'pgsql' ? false : $connection->pdo->lastInsertId();
    }
}
