<?php

declare(strict_types=1);

namespace Weft\Pool;

use Weft\Coroutine;

/**
 * The coroutines that wait for a resource, in the order of asking, and what their waits have cost. It must not know
 * resources. Invariant: each that is given something is counted out at once; one that has gone is never given anything.
 *
 * @internal
 * @template R of object
 */
final class Waiters
{
    /** @var int how many wait now */
    public $count = 0;

    public int $waits = 0;

    public int $timeouts = 0;

    public int $waitedNs = 0;

    public int $waitedMaxNs = 0;

    /** @var \SplQueue<Waiter<R>> */
    private \SplQueue $queue;

    public function __construct(private readonly string $on)
    {
        $this->queue = new \SplQueue();
    }

    /**
     * Opens a wait of this coroutine; park() must follow at once.
     *
     * @return Waiter<R>
     */
    public function enter(): Waiter
    {
        $waiter = new Waiter(Coroutine::prepare($this->on));
        $this->queue->enqueue($waiter);
        ++$this->count;
        ++$this->waits;

        return $waiter;
    }

    /**
     * Waits until it is given something or the time is over; it may be given something and be interrupted as well.
     *
     * @param Waiter<R> $waiter
     */
    public function park(Waiter $waiter, float $timeout): void
    {
        $began = (int) \hrtime(true);
        try {
            Coroutine::park($waiter->wait, $timeout);
        } finally {
            $waited = (int) \hrtime(true) - $began;
            $this->waitedNs += $waited;
            $this->waitedMaxNs = \max($waited, $this->waitedMaxNs);
            $waiter->over = true;
            if (!$waiter->served) {
                --$this->count;
                $this->forget();
            }
        }
    }

    /**
     * Gives a slot, the right to open one, or a failure to the coroutine that has waited longest. false: none waits.
     *
     * @param Slot<R>|null $slot
     */
    public function hand(?Slot $slot, ?\Throwable $failure = null): bool
    {
        while (!$this->queue->isEmpty()) {
            $waiter = $this->queue->dequeue();
            if (!$waiter->over && Coroutine::wake($waiter->wait)) {
                $waiter->served = true;
                $waiter->slot = $slot;
                $waiter->failure = $failure;
                --$this->count;

                return true;
            }
        }

        return false;
    }

    /** Waiters that have gone are skipped when their turn comes; while nothing is returned, they must not pile up. */
    private function forget(): void
    {
        if (\count($this->queue) <= (2 * $this->count) + 64) {
            return;
        }
        $still = new \SplQueue();
        foreach ($this->queue as $waiter) {
            if (!$waiter->over) {
                $still->enqueue($waiter);
            }
        }
        $this->queue = $still;
    }
}
