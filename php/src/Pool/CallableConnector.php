<?php

declare(strict_types=1);

namespace Weft\Pool;

/**
 * A connector made of functions; only the first is needed.
 *
 * @template R of object
 * @implements Connector<R>
 */
final class CallableConnector implements Connector
{
    private readonly \Closure $connect;

    private readonly ?\Closure $check;

    private readonly ?\Closure $reset;

    /**
     * @param callable(): R $connect
     * @param (callable(R): bool)|null $check see Connector::healthy()
     * @param (callable(R): bool)|null $reset see Connector::reset()
     */
    public function __construct(callable $connect, ?callable $check = null, ?callable $reset = null)
    {
        $this->connect = $connect(...);
        $this->check = $check === null ? null : $check(...);
        $this->reset = $reset === null ? null : $reset(...);
    }

    public function connect(): object
    {
        return ($this->connect)();
    }

    public function healthy(object $resource): bool
    {
        return $this->check === null || ($this->check)($resource);
    }

    public function reset(object $resource): bool
    {
        return $this->reset === null || ($this->reset)($resource);
    }

    /** The pool cannot know what an exception of unknown work means: without a check, it takes no risk. */
    public function broken(object $resource, \Throwable $failure): bool
    {
        return $this->check === null || !($this->check)($resource);
    }

    public function close(object $resource): void
    {
        // Whatever it holds is released with the last reference to it.
    }
}
