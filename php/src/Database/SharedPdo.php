<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Internal\Coroutines;
use Weft\Pool;

/**
 * One PDO object that all coroutines of a worker may use as if it were their only connection. Behind it is a pool: a
 * coroutine leases a real connection for a statement until its result is read, for a transaction until its end, or for
 * the rest of its life once it has changed the session (SET, USE, LOCK, temporary tables); such a connection is closed afterwards.
 *
 * It must not know what callers do between statements. Leases knows who has which connection. Invariant: a failed statement
 * is repeated only if it is outside a transaction and running it twice changes nothing.
 *
 * prepare() does not speak to the server: the statement is prepared when it is executed, on the connection it then gets.
 */
final class SharedPdo extends QuickPdo
{
    /** @var Pool<SharedConnection> */
    public readonly Pool $pool;

    /** @var Leases */
    private $leases;

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
        $this->pool = new Pool(new SharedConnector($connector, $statementsMax), ...$limits, name: \strstr($dsn, ':', true) ?: 'pdo');
        $this->leases = new Leases($this->pool->slots);
    }

    protected function prepareAny(string $query, array $options = []): \PDOStatement|false
    {
        return new SharedPdoStatement($this->leases, $query, $options, false);
    }

    public function query(string $query, ?int $fetchMode = null, mixed ...$fetchModeArgs): \PDOStatement|false
    {
        $statement = new SharedPdoStatement($this->leases, $query, [], true);
        if ($fetchMode !== null) {
            $statement->setFetchMode($fetchMode, ...$fetchModeArgs);
        }

        return $statement->execute() ? $statement : false;
    }

    public function exec(string $statement): int|false
    {
        $session = $this->leases->session();
        $count = false;
        for ($attempt = 1;; ++$attempt) {
            $connection = $this->leases->lease($session);
            try {
                $count = $connection->pdo->exec($statement);
                break;
            } catch (\Throwable $failure) {
                if (!$this->leases->failed($session, $failure, $statement) || $attempt > 1) {
                    throw $failure;
                }
            }
        }
        if ($count === false) {
            $this->leases->refused($session, $connection->pdo->errorInfo());
        } else {
            if (Failure::changesSession($statement)) {
                $session->changed = true;
                $connection->sessionChanged();
            }
            $session->wrote($connection);
        }
        $this->leases->settle($session);

        return $count;
    }

    /**
     * Runs statements in order, in one round trip where the client can send them together: MySQL's and MariaDB's.
     *
     * @param list<string|array{0: string, 1?: array<array-key, scalar|null>}> $statements texts, or texts with their parameters
     * @return list<array<array-key, mixed>|int> for each statement its rows, or how many it has changed if it has none
     * @throws BatchException
     */
    public function batch(array $statements): array
    {
        return (new Batch($this->leases))->run($statements);
    }

    public function beginTransaction(): bool
    {
        $session = $this->leases->session();
        $begun = false;
        for ($attempt = 1;; ++$attempt) {
            $connection = $this->leases->lease($session);
            try {
                $begun = $connection->pdo->beginTransaction();
                break;
            } catch (\Throwable $failure) {
                // Nothing can have happened yet, so beginning again is always safe.
                if (!$this->leases->failed($session, $failure, 'SELECT') || $attempt > 1) {
                    throw $failure;
                }
            }
        }
        $this->leases->settle($session);

        return $begun;
    }

    public function commit(): bool
    {
        return $this->endTransaction(true);
    }

    public function rollBack(): bool
    {
        $session = $this->leases->session();
        if ($session->lost) {
            $session->lost = false; // the server has rolled it back

            return true;
        }

        return $this->endTransaction(false);
    }

    public function inTransaction(): bool
    {
        $session = $this->leases->session();

        return $session->lost || ($session->slot !== null && $session->slot->resource->pdo->inTransaction());
    }

    /** The id of this coroutine's last insert. PostgreSQL asks the server, so there it needs an open transaction. */
    public function lastInsertId(?string $name = null): string|false
    {
        $session = $this->leases->session();
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
            $this->leases->setAttribute($attribute, $value);
        }

        return $set;
    }

    public function errorCode(): ?string
    {
        $session = $this->leases->session();

        return $session->error === null ? ($session->used ? '00000' : null) : (string) $session->error[0];
    }

    public function errorInfo(): array
    {
        $session = $this->leases->session();

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
        $session = $this->leases->session();
        $pdo = $this->leases->lease($session)->pdo;
        ++$session->holds;
        try {
            $result = $work($pdo);
        } catch (\Throwable $failure) {
            --$session->holds;
            if (Coroutines::interrupted($failure) || $failure instanceof \PDOException) {
                $this->leases->failed($session, $failure, '');
            } else {
                $this->leases->settle($session);
            }
            throw $failure;
        }
        --$session->holds;
        $this->leases->settle($session);

        return $result;
    }

    /** @return array<string, int|float> see Pool::metrics() */
    public function metrics(): array
    {
        return $this->pool->metrics();
    }

    private function endTransaction(bool $commit): bool
    {
        $session = $this->leases->session();
        if ($session->slot === null && !$session->lost) {
            throw new \PDOException('There is no active transaction');
        }
        $pdo = $this->leases->lease($session)->pdo;
        try {
            $ended = $commit ? $pdo->commit() : $pdo->rollBack();
        } catch (\Throwable $failure) {
            $this->leases->failed($session, $failure, '');
            if (!$commit && $session->slot !== null) {
                $this->leases->drop($session); // PDO and the server disagree on whether a transaction is open: it must not be used again
            }
            $session->lost = false; // there is nothing left to end
            throw $failure;
        }
        $this->leases->settle($session);

        return $ended;
    }
}
