<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Coroutine;
use Weft\Pool;

use function Weft\defer;
use function Weft\go;

/**
 * One PDO object that all coroutines of a worker may use as if it were their only connection. Behind it is a pool: a
 * coroutine leases a real connection for a statement until its result is read, for a transaction until its end, or for
 * the rest of its life once it has changed the session (SET, USE, LOCK, temporary tables); such a connection is closed afterwards.
 *
 * It must not know what callers do between statements. Invariants: a connection is used by one coroutine at a time; none
 * goes back with a transaction or a result open; a failed statement is repeated only if it is outside a transaction and to
 * run it twice changes nothing.
 *
 * prepare() does not speak to the server: the statement is prepared when it is executed, on the connection it then gets.
 */
final class SharedPdo extends \PDO
{
    /** While others wait, a coroutine keeps its connection for at most so many statements in a row. */
    private const STREAK_MAX = 8;

    public readonly Pool $pool;

    /** @var array<int, Session> by coroutine */
    private array $sessions = [];

    private readonly \Closure $leave;

    /** @var list<Session> that keep a connection which nothing needs, while others wait for one */
    private array $loose = [];

    private readonly \Closure $collect;

    /** @var array<int, mixed> set by setAttribute(), for every connection */
    private array $attributes = [];

    private int $attributesVersion = 0;

    private readonly bool $coroutines;

    /**
     * @param array<int, mixed>|null $options PDO's
     * @param list<string> $initial statements that each new connection runs first
     * @param int $statementsMax prepared statements kept per connection, 0 for none
     * @param int|float ...$limits max, min, idleTimeout, ageMax, waitTimeout, waitersMax: see Pool::__construct()
     */
    public function __construct(
        string $dsn,
        #[\SensitiveParameter] ?string $username = null,
        #[\SensitiveParameter] ?string $password = null,
        ?array $options = null,
        array $initial = [],
        int $statementsMax = 64,
        int|float ...$limits,
    ) {
        // The parent's constructor would connect: this object has no connection of its own.
        $connector = new PdoConnector($dsn, $username, $password, $options, $initial);
        $name = \strstr($dsn, ':', true) ?: 'pdo';
        $this->pool = new Pool(new SharedConnector($connector, $statementsMax), ...['name' => $name, ...$limits]);
        $this->leave = $this->leave(...);
        $this->collect = $this->collect(...);
        $this->coroutines = \class_exists(Coroutine::class, false);
    }

    public function prepare(string $query, array $options = []): \PDOStatement|false
    {
        return new SharedPdoStatement($this, $query, $options, false);
    }

    public function query(string $query, ?int $fetchMode = null, mixed ...$fetchModeArgs): \PDOStatement|false
    {
        $statement = new SharedPdoStatement($this, $query, [], true);
        if ($fetchMode !== null) {
            $statement->setFetchMode($fetchMode, ...$fetchModeArgs);
        }

        return $statement->execute() ? $statement : false;
    }

    public function exec(string $statement): int|false
    {
        $session = $this->session();
        for ($attempt = 1;; ++$attempt) {
            $connection = $this->lease($session);
            try {
                $count = $connection->pdo->exec($statement);
                break;
            } catch (\Throwable $failure) {
                if (!$this->failed($session, $failure, $statement) || $attempt > 1) {
                    throw $failure;
                }
            }
        }
        if ($count === false) {
            $this->refused($session, $connection->pdo->errorInfo());
        } else {
            $session->changed = $session->changed || Failure::changesSession($statement);
            $this->wrote($session, $connection);
        }
        $this->settle($session);

        return $count;
    }

    public function beginTransaction(): bool
    {
        $session = $this->session();
        for ($attempt = 1;; ++$attempt) {
            $connection = $this->lease($session);
            try {
                $begun = $connection->pdo->beginTransaction();
                break;
            } catch (\Throwable $failure) {
                // Nothing can have happened yet, so to begin is always repeatable.
                if (!$this->failed($session, $failure, 'SELECT') || $attempt > 1) {
                    throw $failure;
                }
            }
        }
        $this->settle($session);

        return $begun;
    }

    public function commit(): bool
    {
        return $this->endTransaction(true);
    }

    public function rollBack(): bool
    {
        $session = $this->session();
        if ($session->lost) {
            $session->lost = false; // the server has rolled it back

            return true;
        }

        return $this->endTransaction(false);
    }

    public function inTransaction(): bool
    {
        $session = $this->session();

        return $session->lost || ($session->slot !== null && $session->slot->resource->pdo->inTransaction());
    }

    /** The id of this coroutine's last insert. PostgreSQL asks the server, so there it needs an open transaction. */
    public function lastInsertId(?string $name = null): string|false
    {
        $session = $this->session();
        if ($session->slot !== null && ($name !== null || $session->slot->resource->driver === 'pgsql')) {
            return $session->slot->resource->pdo->lastInsertId($name);
        }
        if ($session->lastInsertId === false) {
            throw new \PDOException('The connection of the last insert belongs to others by now: use INSERT … RETURNING,'
            . ' or insert and ask in one transaction');
        }

        return $session->lastInsertId;
    }

    public function quote(string $string, int $type = \PDO::PARAM_STR): string|false
    {
        return $this->hold(static fn (\PDO $pdo) => $pdo->quote($string, $type));
    }

    public function getAttribute(int $attribute): mixed
    {
        return $this->hold(static fn (\PDO $pdo) => $pdo->getAttribute($attribute));
    }

    /** Sets it for all coroutines, as on one connection: do that while the application boots. */
    public function setAttribute(int $attribute, mixed $value): bool
    {
        if ($attribute === \PDO::ATTR_STATEMENT_CLASS || $attribute === \PDO::ATTR_PERSISTENT) {
            throw new \PDOException('SharedPdo has statements and connections of its own: this attribute cannot be set');
        }
        $set = $this->hold(static fn (\PDO $pdo) => $pdo->setAttribute($attribute, $value));
        if ($set) {
            $this->attributes[$attribute] = $value;
            ++$this->attributesVersion;
        }

        return $set;
    }

    public function errorCode(): ?string
    {
        $session = $this->session();

        return $session->error === null ? ($session->used ? '00000' : null) : (string) $session->error[0];
    }

    public function errorInfo(): array
    {
        $session = $this->session();

        return $session->error ?? [$session->used ? '00000' : '', null, null];
    }

    /**
     * Keeps one connection for all that $work does in this coroutine, and gives it the real PDO: for several statements in
     * a row without returning it in between, and for what only the driver's own methods can do.
     *
     * @template T
     * @param callable(\PDO): T $work
     * @return T
     */
    public function hold(callable $work): mixed
    {
        $session = $this->session();
        $pdo = $this->lease($session)->pdo;
        ++$session->holds;
        try {
            $result = $work($pdo);
        } catch (\Throwable $failure) {
            --$session->holds;
            if (Pool::interrupted($failure) || $failure instanceof \PDOException) {
                $this->failed($session, $failure, '');
            } else {
                $this->settle($session);
            }
            throw $failure;
        }
        --$session->holds;
        $this->settle($session);

        return $result;
    }

    /** @return array<string, int|float> see Pool::metrics() */
    public function metrics(): array
    {
        return $this->pool->metrics();
    }

    /** @internal */
    public function session(): Session
    {
        $coroutine = $this->coroutines ? Coroutine::id() : 0;

        return $this->sessions[$coroutine] ?? $this->enter($coroutine);
    }

    /** @internal The connection of this coroutine, which settle() or failed() takes back. */
    public function lease(Session $session): SharedConnection
    {
        if ($session->lost) {
            throw new \PDOException('The connection was lost inside this transaction, so the server has rolled it back:'
            . ' call rollBack(), then begin again');
        }
        $session->loose = false;
        $slot = $session->slot ??= $this->pool->takeSlot();
        /** @var SharedConnection $connection */
        $connection = $slot->resource;
        if ($connection->attributesVersion !== $this->attributesVersion) {
            $connection->apply($this->attributes, $this->attributesVersion);
        }

        return $connection;
    }

    /** @internal After each call: returns the connection unless something still needs it. */
    public function settle(Session $session): void
    {
        $slot = $session->slot;
        if ($slot === null) {
            return;
        }
        $session->transaction = $slot->resource->pdo->inTransaction();
        if ($session->cursors !== [] || $session->transaction || $session->holds !== 0 || $session->changed) {
            return;
        }
        if ($this->pool->isWanted() && ++$session->streak < self::STREAK_MAX) {
            $this->loosen($session);

            return;
        }
        $session->streak = 0;
        $session->slot = null;
        $this->pool->giveSlot($slot);
    }

    /**
     * Others wait for a connection, and this coroutine may want it again at once, for the next statement of its request: to
     * queue for each of them would cost it a switch each. So it keeps it until it waits for anything else: then collect() runs.
     */
    private function loosen(Session $session): void
    {
        $session->loose = true;
        $this->loose[] = $session;
        if (\count($this->loose) > 1) {
            return;
        }
        try {
            go($this->collect);
        } catch (\Error) {
            $this->collect(); // there are tasks_max tasks already
        }
    }

    /** Runs when who loosened its connection has begun to wait: hands on what is not in use again. */
    private function collect(): void
    {
        $loose = $this->loose;
        $this->loose = [];
        foreach ($loose as $session) {
            if ($session->loose && $session->slot !== null) {
                $slot = $session->slot;
                $session->slot = null;
                $session->loose = false;
                $session->streak = 0;
                $this->pool->giveSlot($slot);
            }
        }
    }

    /** @internal Notes what PDO is asked after a statement without rows. */
    public function wrote(Session $session, SharedConnection $connection): void
    {
        $session->error = null;
        $session->used = true;
        $session->lastInsertId = $connection->driver === 'pgsql' ? false : $connection->pdo->lastInsertId();
    }

    /**
     * @internal A call has thrown. The connection is discarded if it may be of no use any more.
     * @return bool whether the statement may be tried again
     */
    public function failed(Session $session, \Throwable $failure, string $sql): bool
    {
        $session->used = true;
        $session->error = $failure instanceof \PDOException ? $failure->errorInfo ?? [$failure->getCode(), null, null] : null;
        $interrupted = Pool::interrupted($failure);
        if ($session->slot === null) {
            return false;
        }
        if (!$interrupted && !Failure::gone($failure)) {
            $this->settle($session);

            return false;
        }
        $alone = $session->cursors === [] && $session->holds === 0 && !$session->transaction && !$session->changed;
        $this->drop($session);
        if (!$interrupted) {
            $this->pool->distrust();
        }

        return $alone && !$interrupted && $failure instanceof \PDOException && Failure::repeatable($failure, $sql);
    }

    /** @internal A call has returned false: PDO's silent error modes. */
    public function refused(Session $session, array $error): void
    {
        $failure = new \PDOException((string) ($error[2] ?? ''));
        $failure->errorInfo = $error;
        $session->used = true;
        $session->error = $error;
        if (Failure::gone($failure)) {
            $this->drop($session);
            $this->pool->distrust();
        }
    }

    /** @internal A result has been read, or is not wanted any more. */
    public function endCursor(Session $session, Prepared $prepared): void
    {
        unset($session->cursors[$prepared->ticket]);
        $prepared->ticket = 0;
        $prepared->statement->closeCursor();
        $session->slot->resource->keep($prepared);
    }

    private function endTransaction(bool $commit): bool
    {
        $session = $this->session();
        if ($session->slot === null && !$session->lost) {
            throw new \PDOException('There is no active transaction');
        }
        $pdo = $this->lease($session)->pdo;
        try {
            $ended = $commit ? $pdo->commit() : $pdo->rollBack();
        } catch (\Throwable $failure) {
            $this->failed($session, $failure, '');
            if (!$commit && $session->slot !== null) {
                $this->drop($session); // in a transaction or out of one, PDO and the server disagree: nobody uses it again
            }
            $session->lost = false; // there is nothing left to end
            throw $failure;
        }
        $this->settle($session);

        return $ended;
    }

    private function drop(Session $session): void
    {
        foreach ($session->cursors as $prepared) {
            $prepared->ticket = 0;
        }
        $session->cursors = [];
        $session->lost = $session->transaction;
        $session->transaction = false;
        $session->changed = false;
        if ($session->slot !== null) {
            $slot = $session->slot;
            $session->slot = null;
            $this->pool->discardSlot($slot);
        }
    }

    private function enter(int $coroutine): Session
    {
        if ($coroutine !== 0) {
            defer($this->leave);
        }

        return $this->sessions[$coroutine] = new Session();
    }

    /** The coroutine ends: what it left open is undone, and its connection returned. */
    private function leave(): void
    {
        $coroutine = Pool::coroutine();
        $session = $this->sessions[$coroutine] ?? null;
        unset($this->sessions[$coroutine]);
        if ($session === null || $session->slot === null) {
            return;
        }
        try {
            foreach ($session->cursors as $prepared) {
                $this->endCursor($session, $prepared);
            }
            if ($session->slot->resource->pdo->inTransaction()) {
                $session->slot->resource->pdo->rollBack();
            }
            $session->holds = 0;
            $session->streak = self::STREAK_MAX;
            $changed = $session->changed;
            $session->changed = false;
            $changed ? $this->drop($session) : $this->settle($session);
        } catch (\Throwable) {
            $this->drop($session); // nobody is left to be told, and the connection is closed
        }
    }
}
