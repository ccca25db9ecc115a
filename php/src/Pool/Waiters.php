<?php

declare(strict_types=1);

namespace Weft\Pool;

/**
 * The coroutines that wait for a resource, in the order of asking, and what their waits have cost. One is given a Slot, the right
 * to open one (OPEN), or a failure that it throws. It must not know resources. Invariant: each that is given something is counted
 * out at once; one that has gone is never given anything.
 *
 * @internal
 */
final class Waiters extends QuickWaiters
{
    /** What gives the right to open a resource. */
    public const OPEN = true;

    /** How many have waited in vain. */
    public int $timeouts = 0;
}
