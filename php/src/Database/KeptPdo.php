<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A connection of a PdoPool with `statementsMax`: prepare() returns a statement that an earlier lease has prepared, if there is one
 * of the same text and the same attributes.
 *
 * Invariant: what one lease has bound, set or left unread is not seen by the next.
 *
 * @internal
 */
final class KeptPdo extends \PDO
{
    /** @var KeptStatements<KeptPdoStatement>|null */
    private ?KeptStatements $kept = null;

    /** Without this nothing is kept: so while the pool's own statements run. */
    public function keep(int $statementsMax): void
    {
        $this->kept = new KeptStatements($statementsMax);
    }

    public function prepare(string $query, array $options = []): \PDOStatement|false
    {
        $statements = $this->kept;
        if ($statements === null || $options !== []) {
            return parent::prepare($query, $options);
        }
        $kept = $statements->take($query);
        if ($kept !== null) {
            return $kept;
        }
        $statement = parent::prepare($query, [\PDO::ATTR_STATEMENT_CLASS => [KeptPdoStatement::class]]);
        if ($statement instanceof KeptPdoStatement) {
            $statements->add($query, $statement);
        }

        return $statement;
    }

    public function setAttribute(int $attribute, mixed $value): bool
    {
        $this->kept?->forget(); // they were prepared with the former one

        return parent::setAttribute($attribute, $value);
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
