<?php

declare(strict_types=1);

namespace Weft\Pool;

use Weft\Pool;

/**
 * Keeps a slot (or, without one, the place of a connection being opened) from being lost when its user is unwound without
 * a catch, as by exit().
 *
 * @internal
 */
final class Lease
{
    public bool $ended = false;

    public function __construct(private readonly Pool $pool, private readonly ?Slot $slot) {}

    public function __destruct()
    {
        if ($this->ended) {
            return;
        }
        if ($this->slot === null) {
            $this->pool->connectingLost();
        } else {
            $this->pool->discardSlot($this->slot);
        }
    }
}
