<?php

declare(strict_types=1);

namespace Weft\Pool;

/**
 * What a pool must know of its resources: how to open, check, clean and close one, and which failures mean that it is
 * useless. It must not know who waits. Every method may wait; the pool counts the resource as in use meanwhile.
 */
interface Connector
{
    /** Opens a resource. What it throws goes to whoever asked, and to those who wait when nothing else can serve them. */
    public function connect(): object;

    /** Whether a resource that has not been used for a while still works. To throw is to say no. */
    public function healthy(object $resource): bool;

    /** Removes what its user left behind. false, or to throw: it is discarded. */
    public function reset(object $resource): bool;

    /** Whether the resource is useless after its user ended with this failure. */
    public function broken(object $resource, \Throwable $failure): bool;

    /** Ends a resource in good order. Not called after an interrupted use: its conversation is in the middle of something. */
    public function close(object $resource): void;
}
