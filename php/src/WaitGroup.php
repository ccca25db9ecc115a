<?php

declare(strict_types=1);

namespace Weft;

use Weft\Internal\Waiter;
use Weft\Internal\WaitQueue;

/** Waits until a count is down to 0: everything that was begun is done. It can be used again after that. */
final class WaitGroup implements \Countable
{
    private WaitQueue $waiters;

    /** @param int $count how many things are under way already, at least 0 */
    public function __construct(private int $count = 0)
    {
        $this->waiters = new WaitQueue();
        $this->add(0);
    }

    /**
     * Counts so many more as begun. MUST be called before they can be done: by the code that starts them, not by themselves.
     *
     * @throws \ValueError when the count would be less than 0
     */
    public function add(int $count = 1): void
    {
        if ($this->count + $count < 0) {
            throw new \ValueError("WaitGroup: the count is {$this->count}; it cannot be changed by $count");
        }
        $this->count += $count;
        if ($this->count === 0) {
            while ($this->waiters->serve() !== null) {
                continue;
            }
        }
    }

    /** Counts one as done. */
    public function done(): void
    {
        $this->add(-1);
    }

    /**
     * Waits until all are done.
     *
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return bool false: the time has passed
     * @throws CancelledError
     */
    public function wait(?float $timeout = null): bool
    {
        if ($this->count === 0 || ($timeout !== null && $timeout <= 0)) {
            return $this->count === 0;
        }
        $waiter = new Waiter($this);
        $place = $this->waiters->add($waiter);
        try {
            return $waiter->park($timeout);
        } finally {
            $this->waiters->remove($place);
        }
    }

    /** How many are under way. */
    public function count(): int
    {
        return $this->count;
    }
}
