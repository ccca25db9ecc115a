<?php

declare(strict_types=1);

namespace Weft;

use Weft\Internal\Waiter;
use Weft\Internal\WaitQueue;

/**
 * Lets a number of coroutines of a process through at once, in the order in which they asked: a permit that is released goes
 * directly to the coroutine that has waited longest, so that none overtakes.
 */
final class Semaphore
{
    private int $free;

    private WaitQueue $waiters;

    /** @param int $permits how many at once, at least 1 */
    public function __construct(public readonly int $permits)
    {
        if ($permits < 1) {
            throw new \ValueError("Weft\\Semaphore: there must be at least 1 permit, not $permits");
        }
        $this->free = $permits;
        $this->waiters = new WaitQueue();
    }

    /**
     * Takes a permit; waits until there is one.
     *
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return bool false: the time has passed
     * @throws CancelledError
     */
    public function acquire(?float $timeout = null): bool
    {
        if ($this->free > 0) {
            $this->free--;

            return true;
        }
        if ($timeout !== null && $timeout <= 0) {
            return false;
        }
        $waiter = new Waiter($this);
        $place = $this->waiters->add($waiter);
        try {
            return $waiter->park($timeout);
        } catch (\Throwable $interruption) {
            if ($waiter->served !== null) {
                $this->release();
            }
            throw $interruption;
        } finally {
            $this->waiters->remove($place);
        }
    }

    /**
     * Gives a permit back. Any coroutine may.
     *
     * @throws \LogicException when none is out
     */
    public function release(): void
    {
        if ($this->free === $this->permits) {
            throw new \LogicException('Semaphore::release() was called more often than acquire()');
        }
        if ($this->waiters->count === 0 || $this->waiters->serve() === null) {
            $this->free++;
        }
    }

    /**
     * Calls $work with a permit, and returns its result.
     *
     * @template T
     * @param callable(): T $work
     * @param ?float $timeout seconds to wait for the permit
     * @return T
     * @throws TimeoutException when no permit came in that time
     */
    public function with(callable $work, ?float $timeout = null): mixed
    {
        if (!$this->acquire($timeout)) {
            throw new TimeoutException("None of {$this->permits} permits became free within $timeout seconds");
        }
        try {
            return $work();
        } finally {
            $this->release();
        }
    }

    /** How many permits are free. */
    public function free(): int
    {
        return $this->free;
    }
}
