<?php

declare(strict_types=1);

namespace Weft\Pool;

/**
 * A coroutine that waits for a resource, and what it was given when it was woken: a slot, the right to open one (neither
 * slot nor failure), or the failure of the server.
 *
 * @internal
 * @template R of object
 */
final class Waiter
{
    /** The coroutine no longer waits. */
    public bool $over = false;

    public bool $served = false;

    /** @var Slot<R>|null */
    public ?Slot $slot = null;

    public ?\Throwable $failure = null;

    public function __construct(public readonly int $wait) {}
}
