<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * One real connection of a SharedPdo with its prepared statements, the least recently used first.
 *
 * Invariant: a statement is destroyed only while its connection is leased, because that writes to the connection.
 *
 * @internal
 */
final class SharedConnection
{
    /** Which version of SharedPdo's attributes it has. */
    public int $attributesVersion = 0;

    public readonly string $driver;

    /** Whether the client has all rows when a statement has run, and knows how many. */
    public bool $buffered;

    /** @var array<string, Prepared> */
    private array $statements = [];

    public function __construct(public readonly \PDO $pdo, private readonly int $statementsMax)
    {
        $this->driver = (string) $pdo->getAttribute(\PDO::ATTR_DRIVER_NAME);
        $this->noteBuffering();
    }

    public function noteBuffering(): void
    {
        $this->buffered = match ($this->driver) {
            'mysql' => (bool) $this->pdo->getAttribute(self::bufferedQuery()),
            'pgsql' => true,
            default => false,
        };
    }

    /** The number has another name since PHP 8.4, and PHP 8.5 warns of the old one. */
    private static function bufferedQuery(): int
    {
        return (int) \constant(
            \PHP_VERSION_ID >= 80400 ? 'Pdo\Mysql::ATTR_USE_BUFFERED_QUERY' : 'PDO::MYSQL_ATTR_USE_BUFFERED_QUERY',
        );
    }

    /** A statement of this text for the caller alone: from the cache, or prepared now. null in silent error modes. */
    public function take(string $sql): ?Prepared
    {
        $prepared = $this->statements[$sql] ?? null;
        if ($prepared !== null) {
            unset($this->statements[$sql]);

            return $prepared;
        }

        return $this->prepare($sql, []);
    }

    /** @param array<int, mixed> $options PDO's */
    public function prepare(string $sql, array $options): ?Prepared
    {
        $statement = $this->pdo->prepare($sql, $options);

        return $statement === false ? null : $this->wrap($statement, $sql);
    }

    /** Runs a text that is not worth keeping. */
    public function query(string $sql): ?Prepared
    {
        $statement = $this->pdo->query($sql);
        if ($statement === false) {
            return null;
        }
        $prepared = $this->wrap($statement, $sql);
        $prepared->disposable = true;

        return $prepared;
    }

    /** Takes a statement back whose result has been read. */
    public function keep(Prepared $prepared): void
    {
        if ($prepared->disposable || $this->statementsMax === 0) {
            return;
        }
        $this->statements[$prepared->sql] = $prepared;
        if (\count($this->statements) > $this->statementsMax) {
            unset($this->statements[(string) \array_key_first($this->statements)]);
        }
    }

    /** @param array<int, mixed> $attributes */
    public function apply(array $attributes, int $version): void
    {
        foreach ($attributes as $attribute => $value) {
            $this->pdo->setAttribute($attribute, $value);
        }
        $this->attributesVersion = $version;
        $this->noteBuffering();
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
