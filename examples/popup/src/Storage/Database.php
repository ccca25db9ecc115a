<?php

declare(strict_types=1);

namespace Popup\Storage;

use PDO;
use Popup\Settings;
use Weft\Database\PdoPool;
use Weft\Database\SharedPdo;
use Weft\Pool\PoolException;
use Weft\Task;

/**
 * Connections to the database, and the few words in which SQLite and MySQL differ.
 *
 * Must not know: tables. Invariant: a connection is used by one coroutine at a time, and one that failed is not used again.
 */
final class Database
{
    /** Connections of a worker at most. They are opened when needed: a busy worker has two or three. */
    public const CONNECTIONS_MAX = 16;

    /** Those among them that write batches. */
    private const WRITERS_MAX = 4;

    private const OPTIONS = [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
        PDO::ATTR_TIMEOUT => 5,
    ];

    /** FULL: what was confirmed to a request survives a loss of power. */
    private const SQLITE = ['PRAGMA busy_timeout = 5000', 'PRAGMA journal_mode = WAL', 'PRAGMA synchronous = FULL'];

    public readonly bool $isSqlite;

    /** SQLite's; null for another database. */
    public readonly ?string $file;

    /** Null: a connection for each use (POPUP_STEP before pool). */
    private readonly ?PdoPool $pool;

    /** Its connections keep their statements prepared: batches are large, and reading them was half of what they cost. */
    private readonly ?SharedPdo $writer;

    /** Makes the tables, and returns why it could not; null when they are there. */
    private ?Task $migration = null;

    /** How the last use ended: null is well. */
    private ?string $failure = null;

    public function __construct(private readonly Settings $settings)
    {
        $this->isSqlite = str_starts_with($settings->database, 'sqlite:');
        $this->file = $this->isSqlite ? substr($settings->database, strlen('sqlite:')) : null;
        $initial = $this->isSqlite ? self::SQLITE : [];
        if ($settings->hasPool()) {
            [$dsn, $user, $password] = [$settings->database, $settings->databaseUser, $settings->databasePassword];
            $readers = self::CONNECTIONS_MAX - self::WRITERS_MAX;
            $this->pool = new PdoPool($dsn, $user, $password, self::OPTIONS, $initial, max: $readers, waitTimeout: 2.0);
            $options = self::OPTIONS + ($this->isSqlite ? [] : [PDO::ATTR_EMULATE_PREPARES => false]);
            $this->writer = new SharedPdo($dsn, $user, $password, $options, $initial, max: self::WRITERS_MAX, waitTimeout: 2.0);
        } else {
            $this->pool = null;
            $this->writer = null;
        }
    }

    /** Begins to bring the tables up to date. Until then, every use of the database waits. */
    public function migrate(): void
    {
        if ($this->migration === null || $this->migration->ended()) {
            $this->migration = \Weft\go(function (): ?\Throwable {
                try {
                    Migrations::run($this);

                    return null;
                } catch (\PDOException $error) {
                    return $error; // for the coroutines that wait, now or later
                }
            });
        }
    }

    /**
     * Runs work with a connection of its own.
     *
     * @template T
     * @param \Closure(PDO): T $work
     * @return T
     * @throws \PDOException
     */
    public function use(\Closure $work): mixed
    {
        try {
            $this->waitForTables();
            $result = $this->pool === null ? $work($this->connect()) : $this->pool->with($work);
            $this->failure = null;

            return $result;
        } catch (\PDOException $error) {
            $this->failure = $error->getMessage();
            throw $error;
        } catch (PoolException $error) {
            $this->failure = $error->getMessage();
            throw new \PDOException($error->getMessage(), 0, $error);
        }
    }

    /**
     * @template T
     * @param \Closure(PDO): T $work
     * @return T
     */
    public function transaction(\Closure $work): mixed
    {
        return $this->use(function (PDO $connection) use ($work): mixed {
            // SQLite: the lock for writing at once, so that no transaction has to give up half-way.
            $connection->exec($this->isSqlite ? 'BEGIN IMMEDIATE' : 'START TRANSACTION');
            try {
                $result = $work($connection);
                $connection->exec('COMMIT');

                return $result;
            } catch (\Throwable $error) {
                try {
                    $connection->exec('ROLLBACK');
                } catch (\PDOException) {
                    // The first error is the one to tell.
                }
                throw $error;
            }
        });
    }

    /**
     * Runs work that writes a batch, in a transaction of its own.
     *
     * @param \Closure(PDO): void $work
     */
    public function batch(\Closure $work): void
    {
        try {
            $this->waitForTables();
            $connection = $this->writer ?? $this->connect();
            $connection->beginTransaction();
            try {
                $work($connection);
                $connection->commit();
            } catch (\Throwable $error) {
                try {
                    $connection->rollBack();
                } catch (\PDOException) {
                    // The first error is the one to tell.
                }
                throw $error;
            }
            $this->failure = null;
        } catch (\PDOException $error) {
            $this->failure = $error->getMessage();
            throw $error;
        }
    }

    /** A connection of the caller's own, kept by the caller. */
    public function connect(): PDO
    {
        $settings = $this->settings;
        $connection = new PDO($settings->database, $settings->databaseUser, $settings->databasePassword, self::OPTIONS);
        foreach ($this->isSqlite ? self::SQLITE : [] as $statement) {
            $connection->exec($statement);
        }

        return $connection;
    }

    /** Why the last use failed; null if it did not. */
    public function failure(): ?string
    {
        return $this->failure;
    }

    /** @throws \PDOException why they could not be made; that is tried again beside the requests */
    public function waitForTables(): void
    {
        if ($this->migration !== null) {
            /** @var ?\Throwable $failure */
            $failure = $this->migration->await();
            if ($failure !== null) {
                throw $failure;
            }
            $this->migration = null;
        }
    }

    /**
     * How `INSERT INTO …` goes on for rows whose key is there already.
     *
     * @param string $key the columns of the key
     * @param string $column the one that is merged; of the key for Merge::Keep
     */
    public function onConflict(string $key, Merge $merge, string $column): string
    {
        if ($this->isSqlite) {
            return (
                " ON CONFLICT ($key) DO " . match ($merge) {
                    Merge::Keep => 'NOTHING',
                    Merge::Greater => "UPDATE SET $column = MAX($column, excluded.$column)",
                    Merge::Sum => "UPDATE SET $column = $column + excluded.$column",
                }
            );
        }

        return (
            " ON DUPLICATE KEY UPDATE $column = " . match ($merge) {
                Merge::Keep => $column,
                Merge::Greater => "GREATEST($column, VALUES($column))",
                Merge::Sum => "$column + VALUES($column)",
            }
        );
    }
}
