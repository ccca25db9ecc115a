<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A statement that one lease after another uses. PDO can neither unbind a parameter nor take back what was set, so one on which more
 * than values was set is not kept, and a lease has to bind as many values as the one before it.
 *
 * @internal
 */
final class KeptPdoStatement extends \PDOStatement
{
    private bool $isPlain = true;

    /** @var array<array-key, true> the parameters that this lease has bound */
    private array $bound = [];

    /** How many parameters are still bound for an earlier lease. */
    private int $left = 0;

    public function execute(?array $params = null): bool
    {
        if ($params === null && \count($this->bound) < $this->left) {
            $count = \count($this->bound);
            $failure = new \PDOException("SQLSTATE[HY093]: Invalid parameter number: $count of $this->left parameters were bound");
            $failure->errorInfo = ['HY093', null, null];
            throw $failure;
        }
        if ($params !== null) {
            [$this->bound, $this->left] = [[], 0]; // PDO unbinds what was bound
        }
        try {
            $executed = parent::execute($params);
        } catch (\Throwable $failure) {
            $this->isPlain = false; // perhaps for what the server has prepared
            throw $failure;
        }
        $this->isPlain = $this->isPlain && $executed;
        if ($params !== null) {
            $this->bound = \array_fill_keys(\array_keys($params), true);
        }

        return $executed;
    }

    public function bindValue(int|string $param, mixed $value, int $type = \PDO::PARAM_STR): bool
    {
        $this->bound[\is_string($param) ? \ltrim($param, ':') : $param - 1] = true;

        return parent::bindValue($param, $value, $type);
    }

    public function bindParam(
        int|string $param,
        mixed &$var,
        int $type = \PDO::PARAM_STR,
        int $maxLength = 0,
        mixed $driverOptions = null,
    ): bool {
        $this->isPlain = false;

        return parent::bindParam($param, $var, $type, $maxLength, $driverOptions);
    }

    public function bindColumn(
        int|string $column,
        mixed &$var,
        int $type = \PDO::PARAM_STR,
        int $maxLength = 0,
        mixed $driverOptions = null,
    ): bool {
        $this->isPlain = false;

        return parent::bindColumn($column, $var, $type, $maxLength, $driverOptions);
    }

    public function setFetchMode(int $mode, mixed ...$args): true
    {
        $this->isPlain = false;

        return parent::setFetchMode($mode, ...$args);
    }

    public function setAttribute(int $attribute, mixed $value): bool
    {
        $this->isPlain = false;

        return parent::setAttribute($attribute, $value);
    }

    /** Closes its result. Returns whether another lease may use it. */
    public function endLease(): bool
    {
        if (!$this->isPlain || !$this->closeCursor()) {
            return false;
        }
        $this->left = \max($this->left, \count($this->bound));
        $this->bound = [];

        return true;
    }
}
