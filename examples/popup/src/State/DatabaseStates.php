<?php

declare(strict_types=1);

namespace Popup\State;

use PDO;
use Popup\Storage\Database;
use Popup\Storage\Operations;

/** Users' states in the database alone: where the service began (POPUP_STEP=naive and queue). A statement or two each time. */
final class DatabaseStates implements States
{
    public function __construct(private readonly Database $database, private readonly Operations $operations) {}

    public function seen(string $user): array
    {
        try {
            return $this->operations->seenBy($user);
        } catch (\PDOException $error) {
            throw new StatesException("The database does not tell the user's state: {$error->getMessage()}", 0, $error);
        }
    }

    public function change(string $user, int $configuration, ?int $expected, ?int $new): bool
    {
        $where = 'WHERE user = ' . "'$user' AND configuration_id = $configuration";
        $sql = match (true) {
            $expected === null && $new === null => 'SELECT 1',
            $expected === null => "INSERT INTO user_states (user, configuration_id, shown_at) SELECT '$user', $configuration, $new"
                . " WHERE NOT EXISTS (SELECT 1 FROM user_states $where)",
            $new === null => "DELETE FROM user_states $where AND shown_at = $expected",
            default => "UPDATE user_states SET shown_at = $new $where AND shown_at = $expected",
        };
        try {
            return $this->database->use(static fn (PDO $connection): bool => (int) $connection->exec($sql) > 0);
        } catch (\PDOException $error) {
            if ((string) $error->getCode() === '23000') {
                return false; // two inserted at the same time
            }
            throw new StatesException("The database does not change the user's state: {$error->getMessage()}", 0, $error);
        }
    }

    public function merge(string $user, array $seen): void
    {
        // The states come from there.
    }

    public function isComplete(): bool
    {
        return true;
    }

    public function complete(\Closure $load): void
    {
        // Nothing to load.
    }
}
