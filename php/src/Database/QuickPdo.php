<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * What a SharedPdo does for every statement. Where coroutines run, weft has this class natively: it makes the statement without
 * PHP code once the statement's class is loaded, and calls prepareAny() before. Elsewhere that does it. Applications use SharedPdo.
 */
abstract class QuickPdo extends \PDO
{
    public function prepare(string $query, array $options = []): \PDOStatement|false
    {
        return $this->prepareAny($query, $options);
    }

    /** @param array<int, mixed> $options PDO's */
    abstract protected function prepareAny(string $query, array $options = []): \PDOStatement|false;
}
