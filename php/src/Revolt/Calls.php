<?php

declare(strict_types=1);

namespace Weft\Revolt;

use Revolt\EventLoop\FiberLocal;
use Revolt\EventLoop\InvalidCallbackError;
use Revolt\EventLoop\UncaughtThrowable;
use Weft\Coroutine;

/**
 * The callbacks and microtasks that are to be called now, and the Fibers that call them.
 *
 * It must not know what the loop waits for. Invariants: one callback runs at a time, in a Fiber that it may suspend; after a
 * failure that no error handler took, nothing more is called until the loop has passed the failure on.
 *
 * @internal
 */
final class Calls
{
    public ?\Closure $errorHandler = null;

    /** What no error handler took. */
    public ?\Throwable $failure = null;

    /** @var \SplQueue<array{\Closure, array<mixed>}> */
    private readonly \SplQueue $microtasks;

    /** @var \SplQueue<Callback> */
    private readonly \SplQueue $callbacks;

    private ?\Fiber $caller = null;

    private readonly \stdClass $drained;

    public function __construct(private readonly Driver $driver, private readonly Hosts $hosts)
    {
        $this->microtasks = new \SplQueue();
        $this->callbacks = new \SplQueue();
        $this->drained = new \stdClass();
    }

    /** @param array<mixed> $arguments */
    public function addMicrotask(\Closure $closure, array $arguments): void
    {
        $this->microtasks->enqueue([$closure, $arguments]);
    }

    public function add(Callback $callback): void
    {
        $this->callbacks->enqueue($callback);
    }

    public function isEmpty(): bool
    {
        return $this->microtasks->isEmpty() && $this->callbacks->isEmpty();
    }

    /** Whether the loop has to end before everything is called. */
    public function isInterrupted(): bool
    {
        return $this->failure !== null || !$this->hosts->want();
    }

    /** The failure, which is the caller's to pass on from now on. */
    public function takeFailure(): ?\Throwable
    {
        [$failure, $this->failure] = [$this->failure, null];

        return $failure;
    }

    /** Calls what is to be called. A Fiber that a callback has suspended is its own from then on, and the next one goes on. */
    public function invoke(): void
    {
        while (!$this->isInterrupted() && !$this->isEmpty()) {
            if ($this->caller === null || $this->caller->isTerminated()) {
                $this->caller = new \Fiber($this->callAll(...));
                $result = $this->caller->start();
            } else {
                $result = $this->caller->resume();
            }
            if ($result !== $this->drained) {
                $this->caller = null;
            }
        }
    }

    /** Runs in Fibers. */
    private function callAll(): void
    {
        while (true) {
            $this->callMicrotasks();
            while (!$this->isInterrupted() && !$this->callbacks->isEmpty()) {
                $callback = $this->callbacks->dequeue();
                if ($this->driver->take($callback)) {
                    $this->call($callback);
                    unset($callback);
                    $this->letResumedRun();
                    $this->callMicrotasks();
                }
            }
            \Fiber::suspend($this->drained);
        }
    }

    private function callMicrotasks(): void
    {
        while (!$this->isInterrupted() && !$this->microtasks->isEmpty()) {
            [$closure, $args] = $this->microtasks->dequeue();
            try {
                // @mago-expect analysis:no-value -- the variable is emptied, so that the arguments live no longer than the call needs
                $closure(...$args, ...$args = []);
            } catch (\Throwable $failure) {
                $this->failed($closure, $failure);
            } finally {
                FiberLocal::clear();
            }
            unset($closure);
            $this->letResumedRun();
        }
    }

    private function call(Callback $callback): void
    {
        try {
            if ($callback->call() !== null) {
                throw InvalidCallbackError::nonNullReturn($callback->id, $callback->closure);
            }
        } catch (\Throwable $failure) {
            $this->failed($callback->closure, $failure);
        } finally {
            FiberLocal::clear();
        }
    }

    private function letResumedRun(): void
    {
        if ($this->hosts->resumed) {
            $this->hosts->resumed = false;
            if ($this->hosts->want()) {
                Coroutine::yield();
            }
        }
    }

    private function failed(\Closure $closure, \Throwable $failure): void
    {
        $handler = $this->errorHandler;
        if ($handler === null) {
            $this->failure = $failure instanceof UncaughtThrowable
                ? $failure
                : UncaughtThrowable::throwingCallback($closure, $failure);

            return;
        }
        (new \Fiber(function () use ($handler, $failure): void {
            try {
                $handler($failure);
            } catch (\Throwable $again) {
                $this->failure = $again instanceof UncaughtThrowable
                    ? $again
                    : UncaughtThrowable::throwingErrorHandler($handler, $again);
            }
        }))->start();
    }
}
