<?php

declare(strict_types=1);

namespace Weft\Internal;

/**
 * Where a waiter stands in a queue. Only WaitQueue uses the links.
 *
 * @internal
 */
final class Place
{
    public ?Place $before = null;

    public ?Place $behind = null;

    public ?WaitQueue $queue = null;

    /** @param mixed $value what the waiter brings: the value that a sender sends */
    public function __construct(public readonly Waiter $waiter, public readonly mixed $value = null) {}
}
