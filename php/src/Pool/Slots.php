<?php

declare(strict_types=1);

namespace Weft\Pool;

use Weft\Internal\Coroutines;
use Weft\TimeoutException;

/**
 * The resources of a pool as they go out and come back: an idle one, a new one, or one that another coroutine returns.
 *
 * It must not know what users do with a resource. Invariants: a slot that is held is not idle; a resource whose use was
 * interrupted is never handed out again; a resource that was unused for a second, or whose server has failed since, is
 * checked first.
 *
 * @internal
 * @template R of object
 */
final class Slots
{
    private const CHECK_AFTER_NS = 1_000_000_000;

    /** @var list<Slot<R>> the one used last comes last */
    private $idle = [];

    /** @var bool */
    private $closed = false;

    /** @var int a resource last used before this time is checked before it is handed out */
    private $distrustedNs = 0;

    /** @var int */
    private $idleNs;

    /** @var int */
    private $ageNs;

    /**
     * @param Connector<R> $connector
     * @param Places<R> $places
     */
    public function __construct(
        private readonly Connector $connector,
        private readonly Places $places,
        public readonly Waiters $waiters,
        private readonly Limits $limits,
    ) {
        $this->idleNs = $limits->idleNs; // each use looks at these
        $this->ageNs = $limits->ageNs;
    }

    public function idle(): int
    {
        return \count($this->idle);
    }

    /**
     * A slot for the caller alone, who must pass it to give(), end() or discard().
     *
     * @return Slot<R>
     * @throws PoolTimeout|PoolException
     */
    public function take(?float $timeout = null)
    {
        if ($this->closed) {
            throw $this->refusal();
        }
        while (($slot = \array_pop($this->idle)) !== null) {
            $slot->held = true;
            $fresh = \hrtime(true) - $slot->usedAt < self::CHECK_AFTER_NS && $slot->usedAt > $this->distrustedNs;
            if ($fresh || $this->healthy($slot)) {
                return $slot;
            }
        }
        if ($this->places->open < $this->limits->max) {
            ++$this->places->open;

            return $this->places->connect();
        }

        return $this->wait($timeout ?? $this->limits->waitTimeout);
    }

    /**
     * Takes a slot back after a use that ended well.
     *
     * @param Slot<R> $slot
     */
    public function give($slot)
    {
        if (!$slot->held) {
            return;
        }
        try {
            $clean = $this->connector->reset($slot->resource);
        } catch (\Throwable $failure) {
            $this->places->discard($slot);
            if (!$failure instanceof \Exception || $failure instanceof TimeoutException) {
                throw $failure;
            }

            return;
        }
        $slot->usedAt = $now = (int) \hrtime(true);
        if (!$clean || $this->closed || $now - $slot->openedAt > $this->ageNs) {
            $slot->held = false;
            $this->places->close($slot);

            return;
        }
        if ($this->waiters->count > 0 && $this->waiters->hand($slot)) {
            return;
        }
        $slot->held = false;
        $this->idle[] = $slot;
        if ($now - $this->idle[0]->usedAt > $this->idleNs && $this->places->open > $this->limits->min) {
            $this->places->close(\array_shift($this->idle));
        }
    }

    /**
     * Takes a slot back after a use that ended with a failure.
     *
     * @param Slot<R> $slot
     */
    public function end(Slot $slot, \Throwable $failure): void
    {
        if (Coroutines::interrupted($failure)) {
            $this->places->discard($slot);
        } elseif ($this->connector->broken($slot->resource, $failure)) {
            $this->distrust();
            $this->places->discard($slot);
        } else {
            $this->give($slot);
        }
    }

    /** @param Slot<R> $slot */
    public function discard(Slot $slot): void
    {
        $this->places->discard($slot);
    }

    /** The server has failed: resources that are open now are checked before they are used again. */
    public function distrust(): void
    {
        $this->distrustedNs = (int) \hrtime(true);
    }

    /** Opens resources until `min` are open. */
    public function warm(): void
    {
        while ($this->places->open < $this->limits->min && !$this->closed) {
            ++$this->places->open;
            $this->give($this->places->connect());
        }
    }

    /** Refuses the waiters and closes what is idle; what is in use is closed when it comes back. */
    public function close(): void
    {
        $this->closed = true;
        $refusal = $this->refusal();
        while ($this->waiters->hand($refusal)) {
            continue;
        }
        while (($slot = \array_pop($this->idle)) !== null) {
            $this->places->close($slot);
        }
    }

    /** @param Slot<R> $slot */
    private function healthy(Slot $slot): bool
    {
        try {
            $young = \hrtime(true) - $slot->openedAt <= $this->ageNs;
            $healthy = $young && $this->connector->healthy($slot->resource);
        } catch (\Throwable $failure) {
            $this->places->discard($slot);
            if (Coroutines::interrupted($failure) || !$failure instanceof \Exception) {
                throw $failure;
            }

            return false;
        }
        if (!$healthy) {
            $this->places->discard($slot);
        }

        return $healthy;
    }

    /** @return Slot<R> */
    private function wait(float $timeout): Slot
    {
        $name = $this->limits->name;
        $max = $this->limits->max;
        if (Coroutines::current() === 0) {
            throw new PoolException(
                "Pool $name: all $max are in use, and outside a coroutine nobody else"
                . ' can return one. Release one first, raise max, or run this in a coroutine',
            );
        }
        $waiting = $this->waiters->count;
        if ($waiting >= $this->limits->waitersMax) {
            throw new PoolException("Pool $name: $waiting coroutines wait already (waitersMax)");
        }
        $given = null;
        try {
            $this->waiters->wait($timeout, $given);
        } catch (\Throwable $interruption) {
            $this->refund($given);
            throw $interruption;
        }

        return $this->received($given, $timeout);
    }

    /**
     * What a waiter was given, as a slot. Native code calls this, too.
     *
     * @param Slot<R>|true|\Throwable|null $given
     * @return Slot<R>
     */
    private function received(Slot|bool|\Throwable|null $given, float $timeout): Slot
    {
        if ($given === null) {
            ++$this->waiters->timeouts;
            throw new PoolTimeout(
                "Pool {$this->limits->name}: none of {$this->limits->max} became free in $timeout s, and {$this->waiters->count} more"
                . ' coroutines wait. Hold them for a shorter time, or raise max',
            );
        }
        if ($given instanceof \Throwable) {
            throw $given;
        }

        return $given instanceof Slot ? $given : $this->places->connect();
    }

    /**
     * A waiter leaves without having used what it was given. Native code calls this, too.
     *
     * @param Slot<R>|true|\Throwable|null $given
     */
    private function refund(Slot|bool|\Throwable|null $given): void
    {
        if ($given instanceof Slot) {
            $this->give($given);
        } elseif ($given === Waiters::OPEN) {
            --$this->places->open;
            $this->places->offer();
        }
    }

    private function refusal(): PoolException
    {
        return new PoolException("Pool {$this->limits->name} is closed");
    }
}
