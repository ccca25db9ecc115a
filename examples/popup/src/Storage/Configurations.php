<?php

declare(strict_types=1);

namespace Popup\Storage;

use PDO;
use Popup\Rules\Audience;
use Popup\Rules\Configuration;

/**
 * The table of configurations.
 *
 * Invariant: each change raises the version in the same transaction, so that a version stands for all changes up to it.
 */
final class Configurations
{
    /** As many as there may be that have not ended: a user's state has room for so many (Popup\State\Bucket). */
    public const LIVE_MAX = 28;

    public function __construct(private readonly Database $database) {}

    /**
     * All that have not ended, paused ones too, and the version they are of.
     *
     * @return array{version: int, rows: list<array<string, mixed>>}
     */
    public function live(int $now): array
    {
        return $this->database->use(static function (PDO $connection) use ($now): array {
            // The version first: a change in between is then seen again, never missed.
            $version = self::versionOf($connection);
            $query = $connection->query("SELECT * FROM configurations WHERE ends_at IS NULL OR ends_at > $now");

            return ['version' => $version, 'rows' => $query->fetchAll()];
        });
    }

    public function version(): int
    {
        return $this->database->use(static fn (PDO $connection): int => self::versionOf($connection));
    }

    /** @return list<Configuration> newest first */
    public function all(): array
    {
        /** @var list<array<string, mixed>> $rows */
        $rows = $this->database->use(
            static fn (PDO $connection): array => $connection->query('SELECT * FROM configurations ORDER BY id DESC LIMIT 500')->fetchAll(),
        );

        return array_map(self::fromRow(...), $rows);
    }

    public function find(int $id): ?Configuration
    {
        $row = $this->database->use(
            static fn (PDO $connection): array|false => $connection->query("SELECT * FROM configurations WHERE id = $id")->fetch(),
        );

        return $row === false ? null : self::fromRow($row);
    }

    /**
     * Stores a new one (id 0) or changes one.
     *
     * @return int|null its id; null when there are LIVE_MAX already
     */
    public function save(Configuration $configuration, int $now): ?int
    {
        $row = self::toRow($configuration);

        return $this->changed(static function (PDO $connection) use ($configuration, $row, $now): ?int {
            $id = $configuration->id;
            $others = $connection->query("SELECT COUNT(*) FROM configurations WHERE id <> $id AND (ends_at IS NULL OR ends_at > $now)");
            if ((int) $others->fetchColumn() >= self::LIVE_MAX) {
                return null;
            }
            if ($id === 0) {
                return self::insert($connection, $row);
            }
            $set = implode(', ', array_map(static fn (string $name): string => "$name = :$name", array_keys($row)));
            $connection->prepare("UPDATE configurations SET $set WHERE id = $id")->execute($row);

            return $id;
        });
    }

    /**
     * Stores these if there are none at all.
     *
     * @param list<Configuration> $configurations
     */
    public function begin(array $configurations): void
    {
        if ($this->all() !== []) {
            return;
        }
        $this->changed(static function (PDO $connection) use ($configurations): void {
            // Checked again, now that no other process can store any.
            if ((int) $connection->query('SELECT COUNT(*) FROM configurations')->fetchColumn() === 0) {
                foreach ($configurations as $configuration) {
                    self::insert($connection, self::toRow($configuration));
                }
            }
        });
    }

    public function pause(int $id, bool $paused): void
    {
        $this->changed(static fn (PDO $connection) => $connection->exec(
            'UPDATE configurations SET paused = ' . (int) $paused . " WHERE id = $id",
        ));
    }

    /** @param array<string, mixed> $row */
    public static function fromRow(array $row): Configuration
    {
        $number = static fn (mixed $value): ?int => $value === null ? null : (int) $value;

        return new Configuration(
            (int) $row['id'],
            (string) $row['title'],
            (string) $row['body'],
            (string) $row['url'],
            (int) $row['priority'],
            (bool) $row['paused'],
            $number($row['starts_at']),
            $number($row['ends_at']),
            (int) $row['interval_s'],
            new Audience(
                (float) $row['percentage'],
                json_decode((string) $row['users'], true),
                json_decode((string) $row['platforms'], true),
                $row['version_min'],
                $row['version_max'],
            ),
        );
    }

    /** @return array<string, mixed> */
    private static function toRow(Configuration $configuration): array
    {
        $audience = $configuration->audience;

        return [
            'title' => $configuration->title,
            'body' => $configuration->body,
            'url' => $configuration->url,
            'priority' => $configuration->priority,
            'paused' => (int) $configuration->paused,
            'starts_at' => $configuration->from,
            'ends_at' => $configuration->until,
            'interval_s' => $configuration->interval_s,
            'percentage' => sprintf('%.2F', $audience->percentage),
            'users' => json_encode($audience->users(), JSON_THROW_ON_ERROR),
            'platforms' => json_encode($audience->platforms(), JSON_THROW_ON_ERROR),
            'version_min' => $audience->versionMin,
            'version_max' => $audience->versionMax,
        ];
    }

    /** @param array<string, mixed> $row */
    private static function insert(PDO $connection, array $row): int
    {
        $names = array_keys($row);
        $sql = 'INSERT INTO configurations (' . implode(', ', $names) . ') VALUES (:' . implode(', :', $names) . ')';
        $connection->prepare($sql)->execute($row);

        return (int) $connection->lastInsertId();
    }

    private static function versionOf(PDO $connection): int
    {
        return (int) $connection->query("SELECT version FROM versions WHERE name = 'configurations'")->fetchColumn();
    }

    /** @param \Closure(PDO): mixed $change */
    private function changed(\Closure $change): mixed
    {
        return $this->database->transaction(static function (PDO $connection) use ($change): mixed {
            // First, so that two changes at the same time come one after the other.
            $connection->exec("UPDATE versions SET version = version + 1 WHERE name = 'configurations'");

            return $change($connection);
        });
    }
}
