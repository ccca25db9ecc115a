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
    /** @var int */
    public $usedAt;

    /** @var bool set while only its holder may touch it */
    public $held = true;

    /** @var int the coroutine that acquired it; 0: outside coroutines */
    public $holder = 0;

    /** @param R $resource */
    public function __construct(public readonly object $resource, public readonly int $openedAt)
    {
        $this->usedAt = $openedAt;
    }
}
