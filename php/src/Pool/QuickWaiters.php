<?php

declare(strict_types=1);

namespace Weft\Pool;

/**
 * The line of Waiters. Where coroutines run, weft has this class natively (crates/zend/c/waiters.c). Elsewhere nobody waits.
 *
 * @internal
 */
abstract class QuickWaiters
{
    /** @var int how many wait now */
    public $count = 0;

    /** @var int how many have waited */
    public $waits = 0;

    /** @var int for how long, in nanoseconds, all together */
    public $waitedNs = 0;

    /** @var int for how long the one that waited longest has */
    public $waitedMaxNs = 0;

    /** @param string $on what they wait for, as reports name it */
    public function __construct(string $on) {}

    /**
     * Waits until this coroutine is given something or the time is over; it may be given something and be interrupted as well.
     *
     * @param float $timeout seconds
     * @param mixed $given what it was given; null if nothing
     */
    public function wait(float $timeout, mixed &$given): void
    {
        throw new \LogicException('No coroutine runs that could wait');
    }

    /** Gives something to the coroutine that has waited longest. false: none waits. */
    public function hand(mixed $given): bool
    {
        return false;
    }
}
