<?php

declare(strict_types=1);

namespace Weft\Pool;

/**
 * Frees a place when its user is unwound without a catch, as by exit(): the place of a slot, or without one the place of a
 * connection that is being opened.
 *
 * @internal
 * @template R of object
 */
final class Lease
{
    public bool $ended = false;

    /**
     * @param Places<R> $places
     * @param Slot<R>|null $slot
     */
    public function __construct(private readonly Places $places, private readonly ?Slot $slot) {}

    public function __destruct()
    {
        if ($this->ended) {
            return;
        }
        if ($this->slot === null) {
            $this->places->connectingLost();
        } else {
            $this->places->discard($this->slot);
        }
    }
}
