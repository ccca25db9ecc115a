<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * What few users set on a statement: its fetch mode, columns bound to variables, attributes, parameters of rare types.
 *
 * @internal
 */
final class StatementSettings
{
    /** @var array{int, array<mixed>}|null the mode and its arguments */
    public ?array $fetchMode = null;

    /** @var array<int|string, array{mixed, int, int, mixed}> */
    public array $columns = [];

    /** @var array<int, mixed> */
    public array $attributes = [];

    /** A parameter is bound that means the same only where the client puts it in: see takes(). */
    public bool $byClient = false;

    /** Whether a value that is bound with this type is the same parameter whoever puts it in. */
    public static function takes(mixed $value, int $type): bool
    {
        return match ($type) {
            \PDO::PARAM_STR => !\is_resource($value),
            \PDO::PARAM_INT => \is_int($value) || $value === null,
            \PDO::PARAM_BOOL => \is_bool($value) || $value === null,
            \PDO::PARAM_NULL => $value === null,
            default => false,
        };
    }

    /** Gives a real statement these settings, and takes the fetch mode of its last user from it. */
    public function apply(SharedConnection $connection, Prepared $prepared): void
    {
        foreach ($this->attributes as $attribute => $value) {
            $prepared->statement->setAttribute($attribute, $value);
            $prepared->disposable = true;
        }
        if ($this->fetchMode !== null) {
            [$mode, $more] = $this->fetchMode;
            $prepared->statement->setFetchMode($mode, ...$more);
            $prepared->fetchModeSet = true;
        } elseif ($prepared->fetchModeSet) {
            $default = $connection->pdo->getAttribute(\PDO::ATTR_DEFAULT_FETCH_MODE);
            $prepared->statement->setFetchMode($default);
            $prepared->fetchModeSet = false;
        }
        $this->bindColumns($prepared);
    }

    public function bindColumns(Prepared $prepared): void
    {
        foreach ($this->columns as $column => $bound) { // its first element is a reference, also in this copy
            $prepared->statement->bindColumn($column, $bound[0], $bound[1], $bound[2], $bound[3]);
            $prepared->disposable = true;
        }
    }
}
