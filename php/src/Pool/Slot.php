<?php

declare(strict_types=1);

namespace Weft\Pool;

/**
 * One resource of a pool, with what the pool notes of it. Times are nanoseconds of hrtime().
 *
 * @internal
 * @template R of object
 */
final class Slot
{
    public int $usedAt;

    /** Set while only its holder may touch it. */
    public bool $held = true;

    /** The coroutine that acquired it; 0: outside coroutines. */
    public int $holder = 0;

    /** @param R $resource */
    public function __construct(public readonly object $resource, public readonly int $openedAt)
    {
        $this->usedAt = $openedAt;
    }
}
