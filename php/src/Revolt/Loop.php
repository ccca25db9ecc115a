<?php

declare(strict_types=1);

namespace Weft\Revolt;

use Revolt\EventLoop\CallbackType;
use Weft\Coroutine;
use Weft\Task;

use function Weft\go;

/**
 * The loop itself: a task of its own that waits for events and has callbacks called, each in a Fiber that may be suspended.
 *
 * It must not know what registers callbacks. It runs while there is something to wait for; in a script only while a coroutine waits
 * for it as well (in run() or a suspension), so that a script ends as it does under the php command. Invariants: only this
 * task calls callbacks; a failure reaches run(), or {main}'s suspension, or the log.
 *
 * @internal
 */
final class Loop
{
    public readonly Hosts $hosts;

    public readonly Calls $calls;

    private readonly Watches $watches;

    private ?Task $task = null;

    /** @var array<string, Callback> enabled since the last tick */
    private array $enabled = [];

    /** Nothing was called in the tick before. */
    private bool $idle = false;

    private bool $stopped = false;

    public function __construct(private readonly Driver $driver)
    {
        $this->watches = new Watches();
        $this->hosts = new Hosts();
        $this->calls = new Calls($driver, $this->hosts);
    }

    /** Whether this is the pooled Fiber of a coroutine, which belongs to the scheduler. */
    public static function isCoroutine(\Fiber $fiber): bool
    {
        if ($fiber->isTerminated()) {
            return false;
        }
        /** @var \Closure $callable */
        $callable = (new \ReflectionFiber($fiber))->getCallable();

        return (new \ReflectionFunction($callable))->getName() === '{coroutine}';
    }

    public function now(): float
    {
        return $this->watches->now();
    }

    public function isRunning(): bool
    {
        return $this->task !== null;
    }

    public function queue(\Closure $closure, mixed ...$args): void
    {
        $this->calls->addMicrotask($closure, $args);
        $this->changed();
    }

    public function enable(Callback $callback): void
    {
        $this->enabled[$callback->id] = $callback;
        $this->changed();
    }

    public function disable(Callback $callback): void
    {
        $callback->invokable = false;
        if (isset($this->enabled[$callback->id])) {
            unset($this->enabled[$callback->id]);
        } else {
            $this->watches->remove($callback);
        }
        $this->changed();
    }

    public function stop(): void
    {
        $this->stopped = true;
        $this->changed();
    }

    /** What the loop waits for has changed: lets it look again, or starts it. */
    public function changed(): void
    {
        if ($this->watches->wait !== 0) {
            Coroutine::wake($this->watches->wait);
        } elseif ($this->task === null && $this->hosts->want() && $this->hasWork()) {
            $this->task = go($this->main(...));
        }
    }

    /** A coroutine waits for the loop from now on. */
    public function host(?Suspension $main): void
    {
        $this->hosts->enter($main);
        if ($main !== null && $this->task === null && !$this->hasWork()) {
            $this->task = go($this->main(...)); // nothing will ever happen: the loop says so itself

            return;
        }
        $this->changed();
    }

    /** The coroutine waits no longer. */
    public function unhost(?Suspension $main): void
    {
        $this->hosts->leave($main);
        $this->changed();
    }

    /** Returns when nothing is left to wait for, or after stop(). */
    public function run(): void
    {
        $fiber = \Fiber::getCurrent();
        if ($this->hosts->runner !== 0 || ($this->task !== null && $fiber !== null && !self::isCoroutine($fiber))) {
            throw new \Error('The event loop is already running');
        }
        if ($fiber !== null && !self::isCoroutine($fiber)) {
            throw new \Error("Can't call " . __METHOD__ . '() within a fiber (i.e., outside of {main})');
        }
        do {
            $this->hosts->beginRun();
            $this->task ??= go($this->main(...));
            try {
                $this->hosts->runner = Coroutine::prepare('the end of the Revolt loop', true);
                Coroutine::park($this->hosts->runner);
            } finally {
                $this->hosts->endRun();
            }
            $failure = $this->calls->takeFailure();
            if ($failure !== null) {
                throw $failure;
            }
        } while (\gc_collect_cycles() > 0 && !$this->stopped);
    }

    public function close(): void
    {
        $this->watches->close();
    }

    private function hasWork(): bool
    {
        return !$this->calls->isEmpty() || $this->driver->hasWork();
    }

    /** The task. */
    private function main(): void
    {
        try {
            $this->stopped = false;
            $this->calls->invoke();
            while (!$this->stopped && !$this->calls->isInterrupted() && $this->driver->hasWork()) {
                $previousIdle = $this->idle;
                $this->idle = true;
                $this->tick($previousIdle);
                $this->calls->invoke();
            }
        } catch (\Throwable $failure) {
            $this->calls->failure ??= $failure; // a closed stream among those waited for, or the worker ends
        } finally {
            $this->task = null;
        }
        $this->ended();
    }

    /** Tells the coroutines that wait for the loop that it has ended, and passes on the failure that ended it. */
    private function ended(): void
    {
        if ($this->hosts->runner !== 0) {
            Coroutine::wake($this->hosts->runner);

            return;
        }
        $failure = $this->calls->takeFailure();
        if ($failure === null && $this->hosts->isMainWaiting() && !$this->hasWork() && \gc_collect_cycles() > 0 && $this->hasWork()) {
            $this->changed(); // a destructor has something to do

            return;
        }
        if ($failure !== null && $this->hosts->leaving !== null) {
            $this->hosts->leaving->loopEnded($failure);
        } elseif ($this->hosts->isMainWaiting() && ($failure !== null || !$this->hasWork())) {
            $this->hosts->end($failure);
        } elseif ($failure !== null) {
            \error_log('Uncaught in the Revolt loop, which goes on: ' . (string) $failure);
        }
        if (!$this->stopped) {
            $this->changed();
        }
    }

    private function tick(bool $previousIdle): void
    {
        $enabled = $this->enabled;
        $this->enabled = [];
        foreach ($enabled as $callback) {
            $callback->invokable = true;
            $this->watches->add($callback);
            if ($callback->type === CallbackType::Defer) {
                $this->calls->add($callback);
                $this->idle = false;
            }
        }
        $blocking = $previousIdle && !$this->stopped && $this->driver->hasWork();
        if ($blocking) {
            $this->calls->invoke();
            $blocking = $this->enabled === [] && !$this->calls->isInterrupted() && !$this->stopped && $this->driver->hasWork();
        }
        foreach ($this->watches->wait($blocking) as $callback) {
            $this->calls->add($callback);
            $this->idle = false;
        }
    }
}
