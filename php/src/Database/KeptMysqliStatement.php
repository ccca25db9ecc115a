<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A statement that one lease after another uses. One with bound results or attributes is not kept; close() only closes its result.
 *
 * @internal
 */
final class KeptMysqliStatement extends \mysqli_stmt
{
    private const NO_DATA = 2031;

    private bool $isPlain = true;

    private bool $isBound = false;

    public function bind_param(string $types, mixed &...$vars): bool
    {
        $this->isBound = true;

        return parent::bind_param($types, ...$vars);
    }

    public function bind_result(mixed &...$vars): bool
    {
        $this->isPlain = false;

        return parent::bind_result(...$vars);
    }

    public function attr_set(int $attribute, int $value): bool
    {
        $this->isPlain = false;

        return parent::attr_set($attribute, $value);
    }

    public function execute(?array $params = null): bool
    {
        if ($params === null && !$this->isBound && $this->param_count > 0) {
            throw new \mysqli_sql_exception('No data supplied for parameters in prepared statement', self::NO_DATA);
        }
        try {
            $executed = parent::execute($params);
        } catch (\Throwable $failure) {
            $this->isPlain = false;
            throw $failure;
        }
        $this->isPlain = $this->isPlain && $executed;

        return $executed;
    }

    public function close(): true
    {
        $this->free_result();

        return true;
    }

    /** Closes its result. Returns whether another lease may use it. */
    public function endLease(): bool
    {
        if ($this->isPlain) {
            $this->free_result();
        }
        $this->isBound = false;

        return $this->isPlain;
    }
}
