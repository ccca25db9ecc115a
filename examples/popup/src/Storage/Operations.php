<?php

declare(strict_types=1);

namespace Popup\Storage;

use PDO;
use Popup\Operation;
use Popup\Rules\Rules;

/**
 * The tables of operations, of their counts, and of users' states: written in batches, read to show and to begin.
 *
 * Invariant: writing a record twice, or records in another order, leaves the same rows: an operation's id is its key, it is
 * counted in the transaction that inserts it, and of two times of showing the later one stays.
 */
final class Operations
{
    /** How often a batch is sorted out in which others, at the same time, write records of the same operations. */
    private const TRIES_MAX = 5;

    public function __construct(private readonly Database $database) {}

    /**
     * Writes a batch with three statements in one transaction.
     *
     * @param list<string> $records see Operation::record()
     * @throws \PDOException
     */
    public function write(array $records): void
    {
        $rows = [];
        $groups = [];
        $states = [];
        foreach ($records as $record) {
            $row = explode("\t", $record);
            [$id, $kind, $user, $configuration, $at] = $row;
            $rows[$id] = $row;
            $groups[$id] = (int) $configuration . ',' . (int) $kind;
            $shown = match ((int) $kind) {
                Operation::Returned->value => (int) $at,
                Operation::Clicked->value => Rules::CLICKED,
                default => 0,
            };
            if ($shown > 0) {
                $states["$user $configuration"] = [$user, $configuration, max($shown, $states["$user $configuration"][2] ?? 0)];
            }
        }
        ksort($states, SORT_STRING); // the same order in all workers, so that they never wait for each other's rows in a circle
        for ($tries = 1; $rows !== []; $tries++) {
            try {
                $this->database->batch(fn (PDO $connection) => $this->insert($connection, $rows, $groups, $states));

                return;
            } catch (Repeated $repeated) {
                if ($tries === self::TRIES_MAX) {
                    throw new \PDOException('Others write the same operations all the time', 0, $repeated);
                }
                // What is there has been counted, and its states were written with it.
                $known = $this->known(array_keys($rows));
                $rows = array_diff_key($rows, $known);
                $groups = array_diff_key($groups, $known);
            }
        }
    }

    /** @return array<int, array<int, int>> configuration to kind to number */
    public function counts(): array
    {
        /** @var list<array<string, int|string>> $rows */
        $rows = $this->database->use(
            static fn (PDO $connection): array => $connection->query('SELECT configuration_id, kind, number FROM operation_counts')
                ->fetchAll(),
        );
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
        /** @var iterable<array{string, int|string, int|string}> $query */
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
     * @param array<string, list<string>> $rows by the operation's id
     * @param array<string, string> $groups configuration and kind, by the operation's id
     * @param array<string, list<string|int>> $states
     * @throws Repeated when an operation is there already
     */
    private function insert(PDO $connection, array $rows, array $groups, array $states): void
    {
        $into = 'INSERT INTO operations (id, kind, user, configuration_id, at)';
        if (Rows::insert($connection, $into, $rows, $this->database->onConflict('id', Merge::Keep, 'id')) !== count($rows)) {
            throw new Repeated();
        }
        if ($states !== []) {
            $onConflict = $this->database->onConflict('user, configuration_id', Merge::Greater, 'shown_at');
            Rows::insert($connection, 'INSERT INTO user_states (user, configuration_id, shown_at)', $states, $onConflict);
        }
        // Last, because all workers change the same few rows: they are locked for the commit only. Nothing but numbers.
        $counts = array_count_values($groups);
        ksort($counts, SORT_STRING);
        $values = implode(',', array_map(
            static fn (string $group, int $number): string => "($group,$number)",
            array_keys($counts),
            $counts,
        ));
        $connection->exec(
            "INSERT INTO operation_counts (configuration_id, kind, number) VALUES $values"
                . $this->database->onConflict('configuration_id, kind', Merge::Sum, 'number'),
        );
    }

    /**
     * @param list<string> $ids
     * @return array<string, int> those that are in the table, as keys
     */
    private function known(array $ids): array
    {
        $marks = implode(',', array_fill(0, count($ids), '?'));

        return array_flip($this->database->use(static function (PDO $connection) use ($ids, $marks): array {
            $query = $connection->prepare("SELECT id FROM operations WHERE id IN ($marks)");
            $query->execute($ids);

            return $query->fetchAll(PDO::FETCH_COLUMN);
        }));
    }
}
