<?php

declare(strict_types=1);

namespace Weft\Internal;

/**
 * A timeout that several waits share.
 *
 * @internal
 */
final class Deadline
{
    private readonly ?float $at;

    /** @param ?float $timeout seconds from now; null for never */
    public function __construct(?float $timeout)
    {
        $this->at = $timeout === null ? null : self::now() + $timeout;
    }

    /** Seconds left, at least 0; null for ever. */
    public function left(): ?float
    {
        return $this->at === null ? null : max(0.0, $this->at - self::now());
    }

    /** The clock of deadlines, in seconds; it only goes forward. */
    public static function now(): float
    {
        return hrtime(true) / 1e9;
    }
}
