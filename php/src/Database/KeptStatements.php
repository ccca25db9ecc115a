<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * The prepared statements of a pooled connection: those that the present lease uses, and those that are kept for the next ones. Of
 * those that are kept, the one that was not used for longest is dropped for a new one.
 *
 * Invariant: a statement that a lease has is given to nobody else before the lease has ended.
 *
 * @internal
 * @template S of KeptPdoStatement|KeptMysqliStatement
 */
final class KeptStatements
{
    /** @var array<string, S> by text: kept, the one used last comes last */
    private array $idle = [];

    /** @var list<array{string, S}> of this lease */
    private array $lent = [];

    public function __construct(private readonly int $max) {}

    /**
     * A kept one of this text, for this lease.
     *
     * @return S|null
     */
    public function take(string $sql): ?object
    {
        $statement = $this->idle[$sql] ?? null;
        if ($statement !== null) {
            unset($this->idle[$sql]);
            $this->lent[] = [$sql, $statement];
        }

        return $statement;
    }

    /**
     * One that this lease has prepared.
     *
     * @param S $statement
     */
    public function add(string $sql, object $statement): void
    {
        if (\count($this->lent) < $this->max) { // the others end with their last reference
            $this->lent[] = [$sql, $statement];
        }
    }

    /** The lease has ended: its results are closed, and what can be used again is kept. */
    public function endLease(): void
    {
        [$lent, $this->lent] = [$this->lent, []];
        foreach ($lent as [$sql, $statement]) {
            if ($statement->endLease()) {
                unset($this->idle[$sql]);
                $this->idle[$sql] = $statement;
            }
        }
        while (\count($this->idle) > $this->max) {
            unset($this->idle[(string) \array_key_first($this->idle)]);
        }
    }

    /** They were prepared for a session that is another one by now. */
    public function forget(): void
    {
        $this->idle = [];
        $this->lent = [];
    }

    public function count(): int
    {
        return \count($this->idle);
    }
}
