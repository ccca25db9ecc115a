<?php

declare(strict_types=1);

namespace Popup\Storage;

use PDO;

/**
 * The tables, made on start by whichever worker comes first.
 *
 * Invariant: a migration that has been released is never changed; what is new is a further one.
 */
final class Migrations
{
    /** What SQLite and MySQL call differently. */
    private const WORDS = [
        'sqlite' => [
            '{id}' => 'INTEGER PRIMARY KEY AUTOINCREMENT',
            '{name}' => 'VARCHAR',
            '{table}' => '',
            '{key}' => 'WITHOUT ROWID',
        ],
        'mysql' => [
            '{id}' => 'INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY',
            // Names are ASCII: bytes need no collation and no conversion.
            '{name}' => 'VARBINARY',
            '{table}' => 'ENGINE=InnoDB CHARACTER SET utf8mb4',
            '{key}' => 'ENGINE=InnoDB CHARACTER SET utf8mb4',
        ],
    ];

    /** @var array<int, list<string>> version to statements */
    private const STEPS = [
        1 => [
            'CREATE TABLE IF NOT EXISTS configurations (
                id {id}, title VARCHAR(200) NOT NULL, body TEXT NOT NULL, url VARCHAR(2000) NOT NULL,
                priority INT NOT NULL, paused INT NOT NULL, starts_at BIGINT NULL, ends_at BIGINT NULL, interval_s INT NOT NULL,
                percentage DECIMAL(5,2) NOT NULL, users MEDIUMTEXT NOT NULL, platforms TEXT NOT NULL,
                version_min VARCHAR(32) NULL, version_max VARCHAR(32) NULL) {table}',
            'CREATE TABLE IF NOT EXISTS versions (name {name}(32) NOT NULL PRIMARY KEY, version BIGINT NOT NULL) {table}',
            "REPLACE INTO versions (name, version) VALUES ('configurations', 1)",
            'CREATE TABLE IF NOT EXISTS operations (
                id {name}(64) NOT NULL PRIMARY KEY, kind INT NOT NULL, user {name}(64) NOT NULL,
                configuration_id INT NOT NULL, at BIGINT NOT NULL) {key}',
            'CREATE TABLE IF NOT EXISTS operation_counts (
                configuration_id INT NOT NULL, kind INT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (configuration_id, kind)) {key}',
            'CREATE TABLE IF NOT EXISTS user_states (
                user {name}(64) NOT NULL, configuration_id INT NOT NULL, shown_at BIGINT NOT NULL,
                PRIMARY KEY (user, configuration_id)) {key}',
        ],
    ];

    /** Brings the database up to date. Safe in many processes at once; does nothing when all is done. */
    public static function run(Database $database): void
    {
        $turn = $database->file === null ? null : self::turn($database->file);
        $connection = $database->connect();
        $connection->exec('CREATE TABLE IF NOT EXISTS migrations (version INT NOT NULL PRIMARY KEY)');
        if (self::version($connection) === array_key_last(self::STEPS)) {
            return;
        }
        self::lock($connection, $database->isSqlite);
        // MySQL cannot take a CREATE back: each statement may therefore be repeated after a death half-way.
        try {
            self::apply($connection, $database->isSqlite);
            $connection->exec($database->isSqlite ? 'COMMIT' : "DO RELEASE_LOCK('popup_migrations')");
        } catch (\PDOException $error) {
            $connection->exec($database->isSqlite ? 'ROLLBACK' : "DO RELEASE_LOCK('popup_migrations')");
            throw $error;
        }
    }

    private static function apply(PDO $connection, bool $isSqlite): void
    {
        $version = self::version($connection);
        foreach (self::STEPS as $step => $statements) {
            foreach ($step > $version ? $statements : [] as $statement) {
                $connection->exec(strtr($statement, self::WORDS[$isSqlite ? 'sqlite' : 'mysql']));
            }
            if ($step > $version) {
                $connection->exec("INSERT INTO migrations (version) VALUES ($step)");
            }
        }
    }

    /**
     * SQLite goes over to its write-ahead log with the first connection to a new file, and refuses a second connection at that
     * moment without waiting: workers take turns.
     *
     * @return resource|null a lock, held as long as it is kept; null: no file can be there, which connecting will tell
     */
    private static function turn(string $file)
    {
        $lock = @fopen("$file.lock", 'c');

        return $lock !== false && flock($lock, LOCK_EX) ? $lock : null;
    }

    private static function version(PDO $connection): int
    {
        return (int) $connection->query('SELECT MAX(version) FROM migrations')->fetchColumn();
    }

    private static function lock(PDO $connection, bool $isSqlite): void
    {
        if ($isSqlite) {
            $connection->exec('BEGIN IMMEDIATE');
        } elseif ((int) $connection->query("SELECT GET_LOCK('popup_migrations', 30)")->fetchColumn() !== 1) {
            throw new \PDOException('Another process holds the lock popup_migrations for more than 30 s');
        }
    }
}
