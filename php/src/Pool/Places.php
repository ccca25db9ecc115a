<?php

declare(strict_types=1);

namespace Weft\Pool;

use Weft\Internal\Coroutines;

/**
 * The places of a pool, each with a resource that is open or being opened: opens and closes resources, and counts them.
 *
 * It must not know which resources are idle. Invariants: at most `max` places are taken; a place that becomes free goes to
 * the coroutine that has waited longest, as the right to open a resource; when the server fails and no resource is open, so
 * does the failure.
 *
 * @internal
 * @template R of object
 */
final class Places
{
    /** @var int places taken: resources that are open or being opened */
    public $open = 0;

    /** Resources being opened. */
    public int $connecting = 0;

    public int $created = 0;

    public int $discarded = 0;

    public int $failures = 0;

    /**
     * @param Connector<R> $connector
     */
    public function __construct(
        private readonly Connector $connector,
        private readonly Waiters $waiters,
        private readonly int $max,
    ) {}

    /**
     * Opens a resource for a place that $open counts already.
     *
     * @return Slot<R>
     */
    public function connect(): Slot
    {
        ++$this->connecting;
        $lease = new Lease($this, null);
        try {
            $slot = new Slot($this->connector->connect(), (int) \hrtime(true));
        } catch (\Throwable $failure) {
            $lease->ended = true;
            --$this->connecting;
            --$this->open;
            ++$this->failures;
            $this->connectingFailed($failure);
            throw $failure;
        }
        $lease->ended = true;
        --$this->connecting;
        ++$this->created;

        return $slot;
    }

    /** Connecting ended without a result and without a failure, as by exit(). */
    public function connectingLost(): void
    {
        --$this->connecting;
        --$this->open;
        ++$this->failures;
        $this->offer();
    }

    /**
     * Closes a resource in good order.
     *
     * @param Slot<R> $slot
     */
    public function close(Slot $slot): void
    {
        try {
            $this->connector->close($slot->resource);
        } finally {
            $this->free();
        }
    }

    /**
     * Drops a resource that must never be used again, not even to say good-bye to its server.
     *
     * @param Slot<R> $slot
     */
    public function discard(Slot $slot): void
    {
        if ($slot->held) {
            $slot->held = false;
            $this->free();
        }
    }

    /** Offers a free place, if there is one, to the coroutine that has waited longest. */
    public function offer(): void
    {
        if ($this->waiters->count > 0 && $this->open < $this->max) {
            ++$this->open;
            if (!$this->waiters->hand(Waiters::OPEN)) {
                --$this->open;
            }
        }
    }

    private function free(): void
    {
        --$this->open;
        ++$this->discarded;
        $this->offer();
    }

    /** Resources in use will serve the waiters when they are returned. If there are none, the waiters fail as well. */
    private function connectingFailed(\Throwable $failure): void
    {
        if (Coroutines::interrupted($failure)) {
            $this->offer(); // it says nothing about the server
        } elseif ($this->open === 0) {
            while ($this->waiters->hand($failure)) {
                continue;
            }
        }
    }
}
