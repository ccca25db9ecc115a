<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * SharedPdo::batch(): statements that run in order on one connection. pdo_mysql sends several at once and returns their results one
 * after another; other drivers return only the last one's, so there each is a call of its own.
 *
 * It must not put parameters into a text itself: PDO does. Invariant: two texts are only joined if neither can reach into the
 * other, that is, if they have no quote that stays open, no comment, no backslash and no semicolon.
 *
 * @internal
 */
final class Batch
{
    /** So many bytes of text are joined; further statements are sent next. The server's own limit is max_allowed_packet. */
    private const JOINED_BYTES_MAX = 65_536;

    /** So many statements are joined. */
    private const JOINED_MAX = 64;

    /** @var list<array<array-key, mixed>|int> */
    private array $results = [];

    public function __construct(private readonly Leases $leases) {}

    /**
     * @param array<mixed> $statements
     * @return list<array<array-key, mixed>|int>
     */
    public function run(array $statements): array
    {
        $statements = \array_map(self::checked(...), \array_values($statements));
        $texts = \array_map(static fn (array $statement): string => $statement[0], $statements);
        $onlyReads = \preg_grep('/^\s*SELECT\b/i', $texts, \PREG_GREP_INVERT) === [] ? \implode(' ', $texts) : '';
        $session = $this->leases->session();
        for ($attempt = 1;; ++$attempt) {
            $connection = $this->leases->lease($session);
            ++$session->holds;
            try {
                $this->runOn($connection, $statements);
                break;
            } catch (\Throwable $failure) {
                --$session->holds;
                $first = $this->results === [];
                $again = $this->leases->failed($session, $failure, $onlyReads) && ($first || $onlyReads !== '');
                if (!$again || $attempt > 1) {
                    throw $failure instanceof \PDOException
                        ? new BatchException(\count($this->results), $this->results, $failure)
                        : $failure;
                }
                $this->results = [];
            }
        }
        --$session->holds;
        if (\array_filter($texts, Failure::changesSession(...)) !== []) {
            $session->changed = true;
            $connection->sessionChanged();
        }
        $session->wrote($connection);
        $this->leases->settle($session);

        return $this->results;
    }

    /** @return array{string, array<array-key, scalar|null>} */
    private static function checked(mixed $statement): array
    {
        [$sql, $parameters] = \is_array($statement) ? [$statement[0] ?? null, $statement[1] ?? []] : [$statement, []];
        if (!\is_string($sql) || !\is_array($parameters)) {
            throw new \ValueError('A statement of a batch is a text, or an array of a text and its parameters');
        }

        return [$sql, $parameters];
    }

    /** @param list<array{string, array<array-key, scalar|null>}> $statements */
    private function runOn(SharedConnection $connection, array $statements): void
    {
        $joins = $connection->joins();
        $group = $parameters = [];
        $bytes = 0;
        foreach ($statements as [$sql, $own]) {
            $joinable = $joins && self::joinable($sql, $own);
            $full = \count($group) === self::JOINED_MAX || $bytes + \strlen($sql) > self::JOINED_BYTES_MAX;
            $together = $joinable && !$full ? self::together($parameters, $own) : null;
            if ($together === null) {
                $this->send($connection, $group, $parameters);
                [$group, $parameters, $bytes] = [[], [], 0];
            }
            $group[] = $sql;
            $parameters = $together ?? $own;
            $bytes += \strlen($sql);
            if (!$joinable) {
                $this->send($connection, $group, $parameters);
                [$group, $parameters, $bytes] = [[], [], 0];
            }
        }
        $this->send($connection, $group, $parameters);
    }

    /**
     * Whether a text has a clear end, and exactly these parameters: then what follows it behind a semicolon is another statement with
     * its own. PDO looks for parameters inside of backticks, too.
     *
     * @param array<array-key, scalar|null> $own
     */
    private static function joinable(string $sql, array $own): bool
    {
        $bare = (string) \preg_replace('~\'[^\']*+\'|"[^"]*+"|`[^`?:]*+`~', ' ', $sql);
        $numbered = \substr_count($bare, '?');
        \preg_match_all('~:(\w++)~', $bare, $names);
        $expected = $numbered > 0 ? \range(0, $numbered - 1) : \array_unique($names[1]);
        $given = \array_map(static fn (int|string $name) => \is_int($name) ? $name : \ltrim($name, ':'), \array_keys($own));

        return (
            \trim($sql) !== ''
            && \preg_match('~[\\\\;#\0]|--|/\*|^\s*(?:CALL|EXEC|BEGIN\s+NOT|CREATE|DELIMITER)~i', $sql) !== 1
            && \strpbrk($bare, '\'"`') === false
            && ($numbered === 0 || $names[1] === [])
            && \count($given) === \count($expected)
            && \array_diff($expected, $given) === []
        );
    }

    /**
     * The parameters of joined texts: all numbered, or all named with no name for two values.
     *
     * @param array<array-key, scalar|null> $parameters
     * @param array<array-key, scalar|null> $own
     * @return array<array-key, scalar|null>|null
     */
    private static function together(array $parameters, array $own): ?array
    {
        if ($parameters === [] || $own === []) {
            return $parameters === [] ? $own : $parameters;
        }
        $names = \array_keys($parameters + $own);
        if (\array_filter($names, \is_string(...)) === []) {
            return \array_merge($parameters, $own); // which counts on
        }
        $named = \array_filter($names, \is_int(...)) === [];

        return $named && \array_intersect_key($parameters, $own) === [] ? $parameters + $own : null;
    }

    /**
     * @param list<string> $group
     * @param array<array-key, scalar|null> $parameters
     */
    private function send(SharedConnection $connection, array $group, array $parameters): void
    {
        if (\count($group) > 1) {
            $this->sendJoined($connection->pdo, $group, $parameters);
        } elseif ($group !== []) {
            $prepared = $parameters === [] ? $connection->query($group[0]) : $connection->take($group[0]);
            if ($prepared !== null && ($prepared->bound > \count($parameters) || $prepared->fetchModeSet)) {
                $prepared = $connection->prepare($group[0], []);
            }
            if ($prepared === null) {
                throw self::refusal($connection->pdo->errorInfo());
            }
            if ($parameters !== []) {
                $prepared->bound = \count($parameters);
                self::execute($prepared->statement, $parameters);
                $connection->look($prepared);
            }
            $this->results[] = self::result($prepared->statement);
            $prepared->statement->closeCursor(); // a procedure's further results are not wanted
            $connection->keep($prepared);
        }
    }

    /**
     * @param non-empty-list<string> $group
     * @param array<array-key, scalar|null> $parameters
     */
    private function sendJoined(\PDO $pdo, array $group, array $parameters): void
    {
        $emulates = (bool) $pdo->getAttribute(\PDO::ATTR_EMULATE_PREPARES);
        $end = \count($this->results) + \count($group);
        try {
            $pdo->setAttribute(\PDO::ATTR_EMULATE_PREPARES, true);
            $statement = $pdo->prepare(\implode("\n;\n", $group));
            if ($statement === false) {
                throw self::refusal($pdo->errorInfo());
            }
            self::execute($statement, $parameters);
            do {
                $this->results[] = self::result($statement);
            } while (\count($this->results) < $end && $statement->nextRowset());
            if (\count($this->results) < $end) {
                throw self::refusal($statement->errorInfo());
            }
            $statement->closeCursor();
        } finally {
            $pdo->setAttribute(\PDO::ATTR_EMULATE_PREPARES, $emulates);
        }
    }

    /** @param array<array-key, scalar|null> $parameters */
    private static function execute(\PDOStatement $statement, array $parameters): void
    {
        foreach ($parameters as $name => $value) {
            $type = match (true) {
                \is_int($value) => \PDO::PARAM_INT,
                \is_bool($value) => \PDO::PARAM_BOOL,
                $value === null => \PDO::PARAM_NULL,
                default => \PDO::PARAM_STR,
            };
            $statement->bindValue(\is_int($name) ? $name + 1 : $name, $value, $type);
        }
        if (!$statement->execute()) {
            throw self::refusal($statement->errorInfo());
        }
    }

    /** @return array<array-key, mixed>|int */
    private static function result(\PDOStatement $statement): array|int
    {
        return $statement->columnCount() > 0 ? $statement->fetchAll() : $statement->rowCount();
    }

    /** What PDO throws unless it is told to be silent. @param array<array-key, mixed> $error */
    private static function refusal(array $error): \PDOException
    {
        $refusal = new \PDOException("SQLSTATE[$error[0]]: " . ($error[2] ?? 'the statement failed'));
        $refusal->errorInfo = $error;

        return $refusal;
    }
}
