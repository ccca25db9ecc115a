<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A statement of SharedPdo::batch() has failed. Those before it have run, those after it have not. Its code and `errorInfo` are the
 * database's.
 */
final class BatchException extends \PDOException
{
    /**
     * @internal
     * @param int $statement which one, counted from 0
     * @param list<array<array-key, mixed>|int> $results of those before it
     */
    public function __construct(
        public readonly int $statement,
        public readonly array $results,
        \PDOException $failure,
    ) {
        parent::__construct("Statement $statement of the batch: " . $failure->getMessage(), 0, $failure);
        $this->code = $failure->getCode();
        $this->errorInfo = $failure->errorInfo;
    }
}
