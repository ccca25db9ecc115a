<?php

declare(strict_types=1);

namespace Popup\Storage;

use PDO;
use Popup\Operation;
use Popup\Rules\Rules;

/**
 * The tables of operations and of users' states: written in batches, read to count and to begin.
 *
 * Invariant: writing a record twice, or records in another order, leaves the same rows: an operation's id is its key, and
 * of two times of showing the later one stays.
 */
final class Operations
{
    public function __construct(private readonly Database $database)
    {
    }

    /**
     * Writes a batch with two statements.
     *
     * @param list<string> $records see Operation::record()
     * @throws \PDOException
     */
    public function write(array $records): void
    {
        $operations = [];
        $states = [];
        foreach ($records as $record) {
            [$id, $kind, $user, $configuration, $at] = explode("\t", $record);
            // The names were checked when they came in: Popup\Web\Input lets no quote pass.
            $operations[$id] = "('$id',$kind,'$user',$configuration,$at)";
            $shown = match (Operation::from((int) $kind)) {
                Operation::Returned => (int) $at,
                Operation::Clicked => Rules::CLICKED,
                default => 0,
            };
            if ($shown > 0) {
                $states["'$user',$configuration"] = max($shown, $states["'$user',$configuration"] ?? 0);
            }
        }
        $this->database->use(fn (PDO $connection) => $this->insert($connection, $operations, $states));
    }

    /** @return array<int, array<int, int>> configuration to kind to number */
    public function counts(): array
    {
        $rows = $this->database->use(static fn (PDO $connection): array => $connection->query(
            'SELECT configuration_id, kind, COUNT(*) AS number FROM operations GROUP BY configuration_id, kind',
        )->fetchAll());
        $counts = [];
        foreach ($rows as ['configuration_id' => $configuration, 'kind' => $kind, 'number' => $number]) {
            $counts[(int) $configuration][(int) $kind] = (int) $number;
        }

        return $counts;
    }

    /** @return array<int, int> configuration to time of showing, or Rules::CLICKED */
    public function seenBy(string $user): array
    {
        return $this->database->use(static function (PDO $connection) use ($user): array {
            $query = $connection->prepare('SELECT configuration_id, shown_at FROM user_states WHERE user = ?');
            $query->execute([$user]);

            return array_map(intval(...), $query->fetchAll(PDO::FETCH_KEY_PAIR));
        });
    }

    /**
     * Every user's state, user by user, without holding them all.
     *
     * @return \Generator<string, array<int, int>>
     */
    public function seenByAll(): \Generator
    {
        $connection = $this->database->connect();
        if (!$this->database->isSqlite) {
            $connection->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
        }
        $query = $connection->query('SELECT user, configuration_id, shown_at FROM user_states ORDER BY user', PDO::FETCH_NUM);
        $user = null;
        $seen = [];
        foreach ($query as [$name, $configuration, $shown]) {
            if ($name !== $user && $user !== null) {
                yield $user => $seen;
                $seen = [];
            }
            $user = (string) $name;
            $seen[(int) $configuration] = (int) $shown;
        }
        if ($user !== null) {
            yield $user => $seen;
        }
    }

    /**
     * @param array<string, string> $operations
     * @param array<string, int> $states
     */
    private function insert(PDO $connection, array $operations, array $states): void
    {
        $connection->exec(
            'INSERT INTO operations (id, kind, user, configuration_id, at) VALUES ' . implode(',', $operations)
            . $this->database->onConflict('id'),
        );
        if ($states === []) {
            return;
        }
        ksort($states); // the same order in all workers: they wait for each other's rows, but never in a circle
        $rows = [];
        foreach ($states as $key => $shown) {
            $rows[] = "($key,$shown)";
        }
        $connection->exec(
            'INSERT INTO user_states (user, configuration_id, shown_at) VALUES ' . implode(',', $rows)
            . $this->database->onConflict('user, configuration_id', 'shown_at'),
        );
    }
}
