<?php

declare(strict_types=1);

namespace Weft;

use Weft\Pool\CallableConnector;
use Weft\Pool\Connector;
use Weft\Pool\Lease;
use Weft\Pool\PoolException;
use Weft\Pool\PoolTimeout;
use Weft\Pool\Slot;
use Weft\Pool\Waiter;
use Weft\Pool\Waiters;

/**
 * A bounded set of resources (mostly connections) that coroutines of one worker take turns to use.
 *
 * It must not know what the resources are: a Connector does. Invariants: at most `max` are open; who waits is served in
 * the order of asking; a resource whose use was interrupted is never given to anybody else; a place that becomes free
 * always reaches a waiter, as a resource, as the right to open one, or as the failure of the server.
 *
 * Outside coroutines (plain php, a script while it boots) there is nobody to wait for: it works one user at a time, and
 * asking for more than `max` at once is an exception that says so.
 */
final class Pool
{
    private const CHECK_AFTER_NS = 1_000_000_000;

    private readonly Connector $connector;

    /** @var list<Slot> used last, last */
    private array $idle = [];

    /** @var array<int, Slot> by object id, of acquire() */
    private array $acquired = [];

    /** @var array<int, true> coroutines that have acquired something, until they end */
    private array $holders = [];

    private readonly \Closure $holderEnds;

    private readonly Waiters $waiters;

    private int $open = 0;

    private int $connecting = 0;

    private int $created = 0;

    private int $discarded = 0;

    private int $failures = 0;

    private bool $closed = false;

    /** What was used last before this time is checked before it is given out. */
    private int $distrustedNs = 0;

    private readonly int $idleNs;

    private readonly int $ageNs;

    /**
     * @param Connector|callable(): object $connector
     * @param int $max open at most, 1 or more
     * @param int $min kept open when nothing is used; warm() opens them
     * @param float $idleTimeout seconds without use after which one above $min is closed, at the next use of the pool
     * @param float $ageMax seconds after which one is closed when it is returned
     * @param float $waitTimeout seconds to wait for a free one, unless said otherwise when asking
     * @param int $waitersMax who asks while so many wait is refused at once
     * @param string $name for messages and lists
     */
    public function __construct(
        Connector|callable $connector,
        private readonly int $max = 16,
        private readonly int $min = 0,
        float $idleTimeout = 60.0,
        float $ageMax = 3600.0,
        private readonly float $waitTimeout = 5.0,
        private readonly int $waitersMax = 10_000,
        private readonly string $name = 'pool',
    ) {
        if ($max < 1 || $min < 0 || $min > $max) {
            throw new \ValueError("Pool $name: 0 <= min <= max and max >= 1 are needed, not min $min and max $max");
        }
        $this->connector = $connector instanceof Connector ? $connector : new CallableConnector($connector);
        $this->waiters = new Waiters("a free resource of pool $name");
        $this->holderEnds = $this->holderEnds(...);
        $this->idleNs = (int) ($idleTimeout * 1e9);
        $this->ageNs = (int) ($ageMax * 1e9);
    }

    /**
     * Runs $work with a resource of its own. An exception that leaves $work goes on to the caller; the resource is
     * discarded when it says so, or when $work was interrupted.
     *
     * @template T
     * @param callable(object): T $work
     * @param float|null $timeout seconds to wait for a resource
     * @return T
     * @throws PoolTimeout|PoolException
     */
    public function with(callable $work, ?float $timeout = null): mixed
    {
        $slot = $this->takeSlot($timeout);
        $lease = new Lease($this, $slot);
        try {
            $result = $work($slot->resource);
        } catch (\Throwable $failure) {
            $lease->ended = true;
            $this->endSlot($slot, $failure);
            throw $failure;
        }
        $lease->ended = true;
        $this->giveSlot($slot);

        return $result;
    }

    /**
     * Takes a resource: the caller must release() or discard() it. In a coroutine, what it still holds when it ends is discarded.
     *
     * @throws PoolTimeout|PoolException
     */
    public function acquire(?float $timeout = null): object
    {
        $slot = $this->takeSlot($timeout);
        $this->acquired[\spl_object_id($slot->resource)] = $slot;
        $slot->holder = $coroutine = self::coroutine();
        if ($coroutine !== 0 && !isset($this->holders[$coroutine])) {
            $this->holders[$coroutine] = true;
            defer($this->holderEnds);
        }

        return $slot->resource;
    }

    /** Gives back what acquire() returned. */
    public function release(object $resource): void
    {
        $this->giveSlot($this->acquiredSlot($resource));
    }

    /** Gives back what acquire() returned and must not be used again. */
    public function discard(object $resource): void
    {
        $this->discardSlot($this->acquiredSlot($resource));
    }

    /** Opens resources until $min are open. @throws \Throwable what connecting throws */
    public function warm(): void
    {
        while ($this->open < $this->min && !$this->closed) {
            ++$this->open;
            $this->giveSlot($this->connect());
        }
    }

    /** Closes what is idle, refuses who waits, and closes what is in use when it is returned. */
    public function close(): void
    {
        $this->closed = true;
        $refusal = $this->refusal();
        while ($this->waiters->hand(null, $refusal)) {
            continue;
        }
        while (($slot = \array_pop($this->idle)) !== null) {
            $this->dispose($slot);
        }
    }

    /**
     * Numbers for a status page: now (open, idle, in_use, connecting, waiting) and since the start (the others).
     *
     * @return array<string, int|float>
     */
    public function metrics(): array
    {
        $idle = \count($this->idle);

        return [
            'max' => $this->max,
            'open' => $this->open - $this->connecting,
            'idle' => $idle,
            'in_use' => $this->open - $this->connecting - $idle,
            'connecting' => $this->connecting,
            'waiting' => $this->waiters->count,
            'waits' => $this->waiters->waits,
            'timeouts' => $this->waiters->timeouts,
            'created' => $this->created,
            'discarded' => $this->discarded,
            'failures' => $this->failures,
            'wait_seconds' => $this->waiters->waitedNs / 1e9,
            'wait_seconds_max' => $this->waiters->waitedMaxNs / 1e9,
        ];
    }

    /** @internal Whether somebody waits. */
    public function isWanted(): bool
    {
        return $this->waiters->count > 0;
    }

    /** @internal A slot for the caller alone; giveSlot(), endSlot() or discardSlot() must follow. */
    public function takeSlot(?float $timeout = null): Slot
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
        if ($this->open < $this->max) {
            ++$this->open;

            return $this->connect();
        }

        return $this->wait($timeout ?? $this->waitTimeout);
    }

    /** @internal Back after a use that ended well. */
    public function giveSlot(Slot $slot): void
    {
        if (!$slot->held) {
            return;
        }
        try {
            $clean = $this->connector->reset($slot->resource);
        } catch (\Throwable $failure) {
            $this->discardSlot($slot);
            if (!$failure instanceof \Exception || $failure instanceof TimeoutException) {
                throw $failure;
            }

            return;
        }
        $slot->usedAt = $now = \hrtime(true);
        if (!$clean || $this->closed || $now - $slot->openedAt > $this->ageNs) {
            $slot->held = false;
            $this->dispose($slot);

            return;
        }
        if ($this->waiters->count > 0 && $this->waiters->hand($slot)) {
            return;
        }
        $slot->held = false;
        $this->idle[] = $slot;
        if ($now - $this->idle[0]->usedAt > $this->idleNs && $this->open > $this->min) {
            $this->dispose(\array_shift($this->idle));
        }
    }

    /** @internal Back after a use that ended with a failure. */
    public function endSlot(Slot $slot, \Throwable $failure): void
    {
        if (self::interrupted($failure)) {
            $this->discardSlot($slot);
        } elseif ($this->connector->broken($slot->resource, $failure)) {
            $this->distrust();
            $this->discardSlot($slot);
        } else {
            $this->giveSlot($slot);
        }
    }

    /** @internal The server has gone: the others that are open now are checked before they are used again. */
    public function distrust(): void
    {
        $this->distrustedNs = \hrtime(true);
    }

    /** @internal Never to be used again, not even for a farewell. */
    public function discardSlot(Slot $slot): void
    {
        if ($slot->held) {
            $slot->held = false;
            $this->freePlace();
        }
    }

    /** @internal Connecting ended without a result and without a failure, as by exit(). */
    public function connectingLost(): void
    {
        --$this->connecting;
        --$this->open;
        ++$this->failures;
        $this->offerPlace();
    }

    /** Whether a failure means that work was stopped at some point it did not choose. @internal */
    public static function interrupted(?\Throwable $failure): bool
    {
        for (; $failure !== null; $failure = $failure->getPrevious()) {
            if ($failure instanceof CancelledError || $failure instanceof TimeoutException) {
                return true;
            }
        }

        return false;
    }

    /** The coroutine that runs; 0 outside coroutines and without weft. @internal */
    public static function coroutine(): int
    {
        static $exists = null;
        $exists ??= \class_exists(Coroutine::class, false);

        return $exists ? Coroutine::id() : 0;
    }

    private function healthy(Slot $slot): bool
    {
        try {
            $healthy = \hrtime(true) - $slot->openedAt <= $this->ageNs && $this->connector->healthy($slot->resource);
        } catch (\Throwable $failure) {
            $this->discardSlot($slot);
            if (self::interrupted($failure) || !$failure instanceof \Exception) {
                throw $failure;
            }

            return false;
        }
        if (!$healthy) {
            $this->discardSlot($slot);
        }

        return $healthy;
    }

    /** Opens one for a place that is counted in $open already. */
    private function connect(): Slot
    {
        ++$this->connecting;
        $lease = new Lease($this, null);
        try {
            $slot = new Slot($this->connector->connect(), \hrtime(true));
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

    /** Who waits is served by those in use, when they are returned. If there are none, the server's failure is theirs too. */
    private function connectingFailed(\Throwable $failure): void
    {
        if (self::interrupted($failure)) {
            $this->offerPlace(); // it says nothing about the server
        } elseif ($this->open === 0) {
            while ($this->waiters->hand(null, $failure)) {
                continue;
            }
        }
    }

    private function freePlace(): void
    {
        --$this->open;
        ++$this->discarded;
        $this->offerPlace();
    }

    private function offerPlace(): void
    {
        if ($this->waiters->count > 0 && $this->open < $this->max) {
            ++$this->open;
            if (!$this->waiters->hand(null)) {
                --$this->open;
            }
        }
    }

    private function dispose(Slot $slot): void
    {
        try {
            $this->connector->close($slot->resource);
        } finally {
            $this->freePlace();
        }
    }

    private function wait(float $timeout): Slot
    {
        if (self::coroutine() === 0) {
            throw new PoolException(
                "Pool $this->name: all $this->max are in use, and outside a coroutine nobody else"
                . ' can return one. Release one first, raise max, or run this in a coroutine',
            );
        }
        $waiting = $this->waiters->count;
        if ($waiting >= $this->waitersMax) {
            throw new PoolException("Pool $this->name: $waiting coroutines wait already (waitersMax)");
        }
        $waiter = $this->waiters->enter();
        try {
            $this->waiters->park($waiter, $timeout);
        } catch (\Throwable $interruption) {
            $this->refund($waiter);
            throw $interruption;
        }
        if (!$waiter->served) {
            ++$this->waiters->timeouts;
            throw new PoolTimeout(
                "Pool $this->name: none of $this->max became free in $timeout s, and"
                . " {$this->waiters->count} more coroutines wait. Hold them for a shorter time, or raise max",
            );
        }
        if ($waiter->failure !== null) {
            throw $waiter->failure;
        }

        return $waiter->slot ?? $this->connect();
    }

    /** A waiter goes without having used what it was given. */
    private function refund(Waiter $waiter): void
    {
        if ($waiter->slot !== null) {
            $this->giveSlot($waiter->slot);
        } elseif ($waiter->served && $waiter->failure === null) {
            --$this->open;
            $this->offerPlace();
        }
    }

    private function acquiredSlot(object $resource): Slot
    {
        $id = \spl_object_id($resource);
        $slot = $this->acquired[$id] ?? null;
        if ($slot === null || $slot->resource !== $resource) {
            throw new PoolException("Pool $this->name: this is not in use, so it cannot be returned (returned twice?)");
        }
        unset($this->acquired[$id]);

        return $slot;
    }

    /** Runs at the end of a coroutine that has acquired something. */
    private function holderEnds(): void
    {
        $coroutine = self::coroutine();
        unset($this->holders[$coroutine]);
        foreach ($this->acquired as $id => $slot) {
            if ($slot->holder === $coroutine) {
                unset($this->acquired[$id]);
                $this->discardSlot($slot);
            }
        }
    }

    private function refusal(): PoolException
    {
        return new PoolException("Pool $this->name is closed");
    }
}
