<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * One real connection of a SharedPdo with its prepared statements. Of those that were not used for long, one is dropped for
 * a new one: the first that was not used since the last look.
 *
 * Invariant: a statement is destroyed only while its connection is leased, because that writes to the connection.
 *
 * @internal
 */
final class SharedConnection
{
    /** @var int which version of SharedPdo's attributes it has */
    public $attributesVersion = 0;

    public readonly string $driver;

    /** @var bool whether the client has all rows when a statement has run, and knows how many */
    public $buffered;

    /** @var array<string, Prepared> */
    private $statements = [];

    /** @var ServerSide|null which statements the server prepares unasked; null: none */
    public $serverSide = null;

    /**
     * @param int $statementsMax
     * @param bool $emulationChosen the application says who prepares statements
     * @param bool $joins whether several statements may be sent at once
     */
    public function __construct(
        public readonly \PDO $pdo,
        private $statementsMax,
        private bool $emulationChosen = false,
        private readonly bool $joins = false,
    ) {
        $this->driver = (string) $pdo->getAttribute(\PDO::ATTR_DRIVER_NAME);
        $this->noteAttributes();
    }

    private function noteAttributes(): void
    {
        $this->buffered = match ($this->driver) {
            'mysql' => (bool) $this->pdo->getAttribute(PdoConnector::mysql('USE_BUFFERED_QUERY')),
            'pgsql' => true,
            default => false,
        };
        $this->serverSide = $this->driver === 'mysql' && $this->buffered
            ? ServerSide::of($this->pdo, $this->statementsMax, $this->emulationChosen)
            : null;
    }

    /**
     * A statement of this text for the caller alone: from the cache, or prepared now. null in silent error modes.
     *
     * @param string $sql
     * @return Prepared|null
     */
    public function take($sql)
    {
        $prepared = $this->statements[$sql] ?? null;
        if ($prepared !== null) {
            $this->forget($prepared);
            if ($prepared->ticket === 0) {
                return $prepared;
            }
        }

        $statement = $this->serverSide?->prepare($this->pdo, $sql);
        if ($statement === null) {
            return $this->prepare($sql, []);
        }
        $prepared = $this->wrap($statement, $sql);
        $prepared->server = true;
        $prepared->bound = $this->serverSide?->parameters($sql) ?? 0; // with fewer it fails as it does when the client prepares it

        return $prepared;
    }

    /**
     * After a statement that take() gave has run: one that the server is to prepare next time is not kept as it is.
     *
     * @param Prepared $prepared
     */
    public function look($prepared): void
    {
        if ($this->serverSide !== null && !$prepared->server && $this->serverSide->look($prepared->sql, $prepared->statement)) {
            $prepared->disposable = true;
        }
    }

    /** The session has other variables or another database now: what was prepared before may mean something else. */
    public function sessionChanged(): void
    {
        $this->emulationChosen = true;
        $this->serverSide = null;
        $this->forgetAll();
    }

    private function forgetAll(): void
    {
        foreach ($this->statements as $prepared) {
            $prepared->kept = false;
            $prepared->disposable = true; // one that is being read is not kept afterwards either
        }
        $this->statements = [];
    }

    /**
     * @param string $sql
     * @param array<int, mixed> $options PDO's
     * @return Prepared|null
     */
    public function prepare($sql, $options)
    {
        $statement = $this->pdo->prepare($sql, $options);

        return $statement === false ? null : $this->wrap($statement, $sql);
    }

    /** Runs a text that is not worth keeping. @param string $sql @return Prepared|null */
    public function query($sql)
    {
        $statement = $this->pdo->query($sql);
        if ($statement === false) {
            return null;
        }
        $prepared = $this->wrap($statement, $sql);
        $prepared->disposable = true;

        return $prepared;
    }

    /**
     * Takes a statement back whose result has been read.
     *
     * @param Prepared $prepared
     */
    public function keep($prepared)
    {
        if ($prepared->kept || $prepared->disposable || $this->statementsMax === 0) {
            return;
        }
        $sql = $prepared->sql;
        if (isset($this->statements[$sql])) {
            $this->statements[$sql]->kept = false; // the other result of this text has ended later
        }
        $this->statements[$sql] = $prepared;
        $prepared->kept = $prepared->recent = true;
        while (\count($this->statements) > $this->statementsMax) {
            $this->dropOne();
        }
    }

    /** The first statement leaves the cache; one that was used since the last look comes last instead. */
    private function dropOne(): void
    {
        $first = \array_key_first($this->statements);
        if ($first === null) {
            return;
        }
        $prepared = $this->statements[$first];
        unset($this->statements[$first]);
        if ($prepared->recent) {
            $prepared->recent = false;
            $this->statements[$first] = $prepared;
        } else {
            $prepared->kept = false;
        }
    }

    /** Takes a statement out of the cache. @param Prepared $prepared */
    public function forget($prepared)
    {
        if ($prepared->kept) {
            $prepared->kept = false;
            unset($this->statements[$prepared->sql]);
        }
    }

    /** Whether statements of a batch can be sent together. */
    public function joins(): bool
    {
        return $this->joins && $this->driver === 'mysql' && $this->buffered;
    }

    /** @param array<int, mixed> $attributes */
    public function apply(array $attributes, int $version): void
    {
        foreach ($attributes as $attribute => $value) {
            $this->pdo->setAttribute($attribute, $value);
        }
        $this->attributesVersion = $version;
        $this->emulationChosen =
            $this->emulationChosen
            || isset($attributes[\PDO::ATTR_EMULATE_PREPARES])
            || isset($attributes[PdoConnector::mysql('DIRECT_QUERY')]);
        $this->forgetAll(); // they were prepared with the former ones
        $this->noteAttributes();
    }

    /** How many statements it keeps. */
    public function statements(): int
    {
        return \count($this->statements);
    }

    private function wrap(\PDOStatement $statement, string $sql): Prepared
    {
        $single = !\str_contains($sql, ';') && \preg_match('/^\s*(?:CALL|EXEC)/i', $sql) !== 1;

        return new Prepared($statement, $sql, $single, Failure::changesSession($sql));
    }
}
