<?php

declare(strict_types=1);

namespace Weft\Pool;

/**
 * What a pool must know of its resources: how to open, check, clean and close one, and which failures mean that it is
 * useless. It must not know the waiters. Every method may wait; the pool counts the resource as in use meanwhile.
 *
 * @template R of object
 */
interface Connector
{
    /**
     * Opens a resource. What it throws goes to the caller of the pool, and to those that wait when nothing else can serve them.
     *
     * @return R
     */
    public function connect(): object;

    /**
     * Whether a resource that has not been used for a while still works. Throwing means no.
     *
     * @param R $resource
     */
    public function healthy(object $resource): bool;

    /**
     * Removes what its user left behind. If it returns false or throws, the resource is discarded.
     *
     * @param R $resource
     */
    public function reset(object $resource): bool;

    /**
     * Whether the resource is useless after its user ended with this failure.
     *
     * @param R $resource
     */
    public function broken(object $resource, \Throwable $failure): bool;

    /**
     * Closes a resource in good order. Not called after an interrupted use, which left a conversation in the middle.
     *
     * @param R $resource
     */
    public function close(object $resource): void;
}
