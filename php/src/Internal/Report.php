<?php

declare(strict_types=1);

namespace Weft\Internal;

/**
 * Reports a failure that cannot be thrown to a caller, as one entry in PHP's error log.
 *
 * @internal
 */
final class Report
{
    public static function failure(string $where, \Throwable $failure): void
    {
        error_log("weft: $where failed and nobody can catch it: $failure");
    }
}
