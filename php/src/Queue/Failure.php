<?php

declare(strict_types=1);

namespace Weft\Queue;

/** Tells temporary failures from permanent ones. */
final class Failure
{
    /**
     * SQLSTATE classes that blame the data: cardinality, data exception, integrity constraint (ISO/IEC 9075-2, 24.1).
     */
    private const OF_DATA = ['21', '22', '23'];

    /** Whether trying again is useless (true), may help (false), or cannot be known (null). */
    public static function isPermanent(\Throwable $error): ?bool
    {
        if ($error instanceof \PDOException) {
            return in_array(substr((string) $error->getCode(), 0, 2), self::OF_DATA, true);
        }
        if ($error instanceof \ValueError || $error instanceof \TypeError || $error instanceof \JsonException) {
            return true;
        }

        return $error instanceof \RedisException ? false : null;
    }
}
