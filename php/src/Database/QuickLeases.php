<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * What Leases does for every coroutine. Where coroutines run, weft has this class natively: a coroutine that leases no connection
 * any more leaves without PHP code. Elsewhere, and for others, leaveAny() does it.
 *
 * @internal
 */
abstract class QuickLeases
{
    /** Runs when a coroutine ends. */
    protected function leave(): void
    {
        $this->leaveAny();
    }

    abstract protected function leaveAny(): void;
}
