<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Coroutine;

/**
 * One wait of one coroutine. It may stand in several queues at once, with one Place in each; the first to serve it wins.
 *
 * MUST be made right before park(): nothing that waits may come in between.
 *
 * @internal
 */
final class Waiter
{
    /** The place through which it was served; null while it waits, and when nothing came. */
    public ?Place $served = null;

    /** What it was served with. */
    public mixed $value = null;

    /** Its queue was closed: nothing will come. */
    public bool $dismissed = false;

    private readonly int $wait;

    /** @param string|object $on what reports shall name */
    public function __construct(string|object $on)
    {
        $this->wait = Coroutine::prepare($on);
    }

    /**
     * Parks until it is served or dismissed, or the time has passed.
     *
     * @return bool whether it was served
     * @throws \Weft\CancelledError when interrupted; it may have been served all the same: look at $served
     */
    public function park(?float $timeout): bool
    {
        Coroutine::park($this->wait, $timeout);

        return $this->served !== null;
    }

    /** Ends the wait with a value. False: it has ended already, and the caller keeps the value. */
    public function serve(Place $place, mixed $value): bool
    {
        if ($this->served !== null || $this->dismissed || !Coroutine::wake($this->wait)) {
            return false;
        }
        $this->served = $place;
        $this->value = $value;

        return true;
    }

    /** Ends the wait with nothing. */
    public function dismiss(): void
    {
        if ($this->served === null && !$this->dismissed) {
            $this->dismissed = Coroutine::wake($this->wait);
        }
    }
}
