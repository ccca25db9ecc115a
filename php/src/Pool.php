<?php

declare(strict_types=1);

namespace Weft;

use Weft\Pool\CallableConnector;
use Weft\Pool\Connector;
use Weft\Pool\Holders;
use Weft\Pool\Lease;
use Weft\Pool\Limits;
use Weft\Pool\Places;
use Weft\Pool\PoolException;
use Weft\Pool\PoolTimeout;
use Weft\Pool\Slots;
use Weft\Pool\Waiters;

/**
 * A bounded set of resources (mostly connections) that the coroutines of one worker take turns to use.
 *
 * It must not know what the resources are: a Connector does. Invariants: at most `max` are open; coroutines that wait are
 * served in the order of asking; a resource whose use was interrupted is never given to another coroutine; a place that
 * becomes free always reaches a waiter, as a resource, as the right to open one, or as the failure of the server.
 *
 * Outside coroutines (plain php, a script while it boots) no other user can return a resource: the pool has one user at a time, and
 * asking for more than `max` at once throws an exception that says so.
 *
 * @template R of object
 */
final class Pool
{
    /**
     * @internal
     * @var Slots<R>
     */
    public readonly Slots $slots;

    private readonly Limits $limits;

    private readonly Waiters $waiters;

    /** @var Places<R> */
    private readonly Places $places;

    /** @var Holders<R> */
    private readonly Holders $holders;

    /**
     * @param Connector<R>|callable(): R $connector
     * @param int $max most resources open at a time, 1 or more
     * @param int $min resources kept open when nothing is used; warm() opens them
     * @param float $idleTimeout seconds without use after which a resource above $min is closed, at the next use of the pool
     * @param float $ageMax seconds after which a resource is closed when it is returned
     * @param float $waitTimeout seconds to wait for a free resource, unless the call names another time
     * @param int $waitersMax while so many wait, further calls are refused at once
     * @param string $name for messages and lists
     */
    public function __construct(
        Connector|callable $connector,
        int $max = 16,
        int $min = 0,
        float $idleTimeout = 60.0,
        float $ageMax = 3600.0,
        float $waitTimeout = 5.0,
        int $waitersMax = 10_000,
        string $name = 'pool',
    ) {
        $this->limits = new Limits($name, $max, $min, $idleTimeout, $ageMax, $waitTimeout, $waitersMax);
        /** @var Connector<R> $connector */
        $connector = $connector instanceof Connector ? $connector : new CallableConnector($connector);
        $this->waiters = new Waiters("a free resource of pool $name");
        $this->places = new Places($connector, $this->waiters, $max);
        $this->slots = new Slots($connector, $this->places, $this->waiters, $this->limits);
        $this->holders = new Holders($this->places, $name);
    }

    /**
     * Runs $work with a resource of its own. An exception that leaves $work goes on to the caller; the resource is
     * discarded when the exception says that it is broken, or when $work was interrupted.
     *
     * @template T
     * @param callable(R): T $work
     * @param float|null $timeout seconds to wait for a resource
     * @return T
     * @throws PoolTimeout|PoolException
     */
    public function with(callable $work, ?float $timeout = null): mixed
    {
        $slot = $this->slots->take($timeout);
        $lease = new Lease($this->places, $slot);
        try {
            $result = $work($slot->resource);
        } catch (\Throwable $failure) {
            $lease->ended = true;
            $this->slots->end($slot, $failure);
            throw $failure;
        }
        $lease->ended = true;
        $this->slots->give($slot);

        return $result;
    }

    /**
     * Takes a resource: the caller must release() or discard() it. What a coroutine still holds when it ends is discarded.
     *
     * @return R
     * @throws PoolTimeout|PoolException
     */
    public function acquire(?float $timeout = null): object
    {
        $slot = $this->slots->take($timeout);
        $this->holders->add($slot);

        return $slot->resource;
    }

    /**
     * Gives back what acquire() returned.
     *
     * @param R $resource
     */
    public function release(object $resource): void
    {
        $this->slots->give($this->holders->remove($resource));
    }

    /**
     * Gives back what acquire() returned and must not be used again.
     *
     * @param R $resource
     */
    public function discard(object $resource): void
    {
        $this->places->discard($this->holders->remove($resource));
    }

    /** Opens resources until $min are open. @throws \Throwable what connecting throws */
    public function warm(): void
    {
        $this->slots->warm();
    }

    /** Refuses the waiters, closes what is idle, and closes what is in use when it is returned. */
    public function close(): void
    {
        $this->slots->close();
    }

    /**
     * Numbers for a status page: now (open, idle, in_use, connecting, waiting) and since the start (the others).
     *
     * @return array<string, int|float>
     */
    public function metrics(): array
    {
        $idle = $this->slots->idle();
        $open = $this->places->open - $this->places->connecting;

        return [
            'max' => $this->limits->max,
            'open' => $open,
            'idle' => $idle,
            'in_use' => $open - $idle,
            'connecting' => $this->places->connecting,
            'waiting' => $this->waiters->count,
            'waits' => $this->waiters->waits,
            'timeouts' => $this->waiters->timeouts,
            'created' => $this->places->created,
            'discarded' => $this->places->discarded,
            'failures' => $this->places->failures,
            'wait_seconds' => $this->waiters->waitedNs / 1e9,
            'wait_seconds_max' => $this->waiters->waitedMaxNs / 1e9,
        ];
    }
}
