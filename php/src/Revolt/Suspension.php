<?php

declare(strict_types=1);

namespace Weft\Revolt;

use Weft\Coroutine;

/**
 * Where one Fiber, or one coroutine, waits for resume() or throw(). A coroutine (a handler, a task, a script's {main}) parks,
 * so that others run; a Fiber that user code made is suspended, and resumed by the loop.
 *
 * Invariant: a suspend() ends once; a late resume() or throw() for a wait that was cut short is ignored.
 *
 * @internal
 * @template T
 * @implements \Revolt\EventLoop\Suspension<T>
 */
final class Suspension implements \Revolt\EventLoop\Suspension
{
    /** @var \WeakReference<\Fiber>|null */
    private readonly ?\WeakReference $fiber;

    /** Keeps the Fiber alive: only the code that can resume it may have a reference to this. */
    private ?\Fiber $suspended = null;

    /** Whether suspend() parks a coroutine. */
    private readonly bool $parks;

    private bool $pending = false;

    /** The wait was cut short, which the code that was to end it does not know. */
    private bool $interrupted = false;

    /** {main}'s, whose loop ended without resuming it. */
    private bool $dead = false;

    private int $wait = 0;

    private mixed $value = null;

    private ?\Throwable $failure = null;

    private ?\Error $misuse = null;

    public function __construct(private readonly Loop $loop, ?\Fiber $fiber, private readonly bool $isMain)
    {
        $this->fiber = $fiber === null ? null : \WeakReference::create($fiber);
        $this->parks = $fiber === null || Loop::isCoroutine($fiber);
    }

    /** @param T $value */
    public function resume(mixed $value = null): void
    {
        if ($this->mayEnd('resume')) {
            $this->end($value, null);
        }
    }

    public function throw(\Throwable $throwable): void
    {
        if ($this->mayEnd('throw')) {
            $this->end(null, $throwable);
        }
    }

    /** @return T */
    public function suspend(): mixed
    {
        if ($this->dead) {
            throw new \Error('Suspension cannot be suspended after an uncaught exception is thrown from the event loop');
        }
        if ($this->pending) {
            throw new \Error('Must call resume() or throw() before calling suspend() again');
        }
        if ($this->fiber?->get() !== \Fiber::getCurrent()) {
            throw new \Error('Must not call suspend() from another fiber');
        }
        $this->pending = true;
        $this->interrupted = false;
        $this->misuse = null;

        return $this->parks ? $this->park() : $this->suspendFiber();
    }

    public function isDead(): bool
    {
        return $this->dead;
    }

    /** The loop has ended. Nothing else can resume {main}, so it gets the failure, or an error that says so. */
    public function loopEnded(?\Throwable $failure): void
    {
        $this->dead = true;
        if (!$this->pending) { // resumed already, but it has not gone on yet
            $this->failure = $failure;

            return;
        }
        $this->end(
            null,
            $failure ?? new \Error('Event loop terminated without resuming the current suspension (the cause is'
            . ' either a fiber deadlock, or an incorrectly unreferenced/canceled watcher)'),
        );
    }

    private function mayEnd(string $how): bool
    {
        if ($this->dead || $this->interrupted) {
            $this->interrupted = false;

            return false;
        }
        if (!$this->pending) {
            throw $this->misuse ?? new \Error("Must call suspend() before calling $how()");
        }

        return true;
    }

    private function end(mixed $value, ?\Throwable $failure): void
    {
        $this->pending = false;
        if ($this->parks) {
            [$this->value, $this->failure] = [$value, $failure];
            $this->loop->unhost($this->isMain ? $this : null);
            Coroutine::wake($this->wait);

            return;
        }
        $fiber = $this->fiber?->get();
        if ($fiber !== null) {
            $this->loop->queue(static function () use ($fiber, $value, $failure): void {
                if (!$fiber->isTerminated()) {
                    $failure === null ? $fiber->resume($value) : $fiber->throw($failure);
                }
            });
        }
    }

    private function park(): mixed
    {
        $this->loop->host($this->isMain ? $this : null);
        $this->wait = Coroutine::prepare('a Revolt suspension');
        try {
            Coroutine::park($this->wait);
        } finally {
            if ($this->pending) {
                $this->pending = false;
                $this->interrupted = true;
                $this->loop->unhost($this->isMain ? $this : null);
            }
            if ($this->isMain) {
                $this->loop->hosts->leaving = null;
            }
            [$value, $failure] = [$this->value, $this->failure];
            [$this->value, $this->failure] = [null, null];
        }
        if ($failure !== null) {
            throw $failure;
        }

        return $value;
    }

    private function suspendFiber(): mixed
    {
        $this->suspended = $this->fiber?->get();
        try {
            $value = \Fiber::suspend();
            $this->suspended = null;

            return $value;
        } catch (\FiberError $error) {
            $this->suspended = null;
            $this->pending = false;
            $this->misuse = $error;
            throw $error;
        }
    }
}
