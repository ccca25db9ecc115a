<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A connection of a MysqliPool with `statementsMax`: prepare() and execute_query() use a statement that an earlier lease has prepared, if
 * there is one of the same text.
 *
 * Invariant: what one lease has bound or left unread is not seen by the next.
 *
 * @internal
 */
final class KeptMysqli extends \mysqli
{
    /** @var KeptStatements<KeptMysqliStatement>|null */
    private ?KeptStatements $kept = null;

    public function keep(int $statementsMax): void
    {
        $this->kept = new KeptStatements($statementsMax);
    }

    public function prepare(string $query): \mysqli_stmt|false
    {
        $statements = $this->kept;
        if ($statements === null) {
            return parent::prepare($query);
        }
        $kept = $statements->take($query);
        if ($kept !== null) {
            return $kept;
        }
        $statement = new KeptMysqliStatement($this, $query);
        if ($this->errno !== 0) {
            return false;
        }
        $statements->add($query, $statement);

        return $statement;
    }

    public function execute_query(string $query, ?array $params = null): \mysqli_result|bool
    {
        $statement = $this->prepare($query);
        if ($statement === false || !$statement->execute($params)) {
            return false;
        }

        return $statement->field_count === 0 ? true : $statement->get_result();
    }

    public function select_db(string $database): bool
    {
        $this->kept?->forget(); // their tables are those of the former one

        return parent::select_db($database);
    }

    public function change_user(string $username, #[\SensitiveParameter] string $password, ?string $database): bool
    {
        $this->kept?->forget(); // the server does, too

        return parent::change_user($username, $password, $database);
    }

    /** The connection goes back to its pool. */
    public function endLease(): void
    {
        $this->kept?->endLease();
    }

    /** How many statements it keeps for the next lease. */
    public function statements(): int
    {
        return $this->kept?->count() ?? 0;
    }
}
