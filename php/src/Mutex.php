<?php

declare(strict_types=1);

namespace Weft;

use Weft\Internal\Waiter;
use Weft\Internal\WaitQueue;

/**
 * Lets one coroutine of a process through at a time, in the order in which they asked: unlock() hands the mutex over directly, so
 * that no coroutine overtakes. Only the coroutine that has locked it may unlock it.
 */
final class Mutex
{
    /** The coroutine that holds it; null: none. */
    private ?int $owner = null;

    private WaitQueue $waiters;

    public function __construct()
    {
        $this->waiters = new WaitQueue();
    }

    /**
     * Locks; waits until it is free.
     *
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return bool false: the time has passed
     * @throws \LogicException when the running coroutine holds it already: it would wait for itself
     * @throws CancelledError
     */
    public function lock(?float $timeout = null): bool
    {
        $self = Coroutine::id();
        if ($this->owner === null) {
            $this->owner = $self;

            return true;
        }
        if ($this->owner === $self) {
            throw new \LogicException('Mutex::lock(): this coroutine holds it already and would wait for itself');
        }
        if ($timeout !== null && $timeout <= 0) {
            return false;
        }
        $waiter = new Waiter($this);
        $place = $this->waiters->add($waiter, $self);
        try {
            return $waiter->park($timeout);
        } catch (\Throwable $interruption) {
            if ($waiter->served !== null) {
                $this->handOver();
            }
            throw $interruption;
        } finally {
            $this->waiters->remove($place);
        }
    }

    /**
     * Gives it to the coroutine that has waited longest.
     *
     * @throws \LogicException when the running coroutine does not hold it
     */
    public function unlock(): void
    {
        $self = Coroutine::id();
        if ($this->owner !== $self) {
            $owner = $this->owner === null ? 'nobody does' : "coroutine {$this->owner} does";
            throw new \LogicException("Mutex::unlock(): coroutine $self does not hold it, $owner");
        }
        if ($this->waiters->count === 0) {
            $this->owner = null;

            return;
        }
        $this->handOver();
    }

    /**
     * Calls $work while the mutex is locked, and returns its result.
     *
     * @template T
     * @param callable(): T $work
     * @param ?float $timeout seconds to wait for the lock
     * @return T
     * @throws TimeoutException when it was not free in that time
     */
    public function synchronized(callable $work, ?float $timeout = null): mixed
    {
        if (!$this->lock($timeout)) {
            throw new TimeoutException("The mutex was not free within $timeout seconds; coroutine {$this->owner} holds it");
        }
        try {
            return $work();
        } finally {
            $this->unlock();
        }
    }

    /** Whether a coroutine holds it. */
    public function locked(): bool
    {
        return $this->owner !== null;
    }

    private function handOver(): void
    {
        $this->owner = $this->waiters->serve()?->value;
    }
}
