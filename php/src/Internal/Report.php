<?php

declare(strict_types=1);

namespace Weft\Internal;

/**
 * Tells of a failure that has no caller to be thrown to: one entry of PHP's error log.
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
