<?php

declare(strict_types=1);

namespace Weft\Revolt;

use Revolt\EventLoop\CallbackType;
use Revolt\EventLoop\FiberLocal;
use Revolt\EventLoop\InvalidCallbackError;
use Revolt\EventLoop\UncaughtThrowable;
use Weft\Coroutine;
use Weft\Task;

use function Weft\go;

/**
 * The loop itself: a task of its own that waits for events and calls callbacks, each in a Fiber that may be suspended.
 *
 * It must not know who registers what. It runs while there is something to wait for; in a script only while somebody waits
 * for it as well (in run() or a suspension), so that a script ends as it does under the php command. Invariants: callbacks
 * are called by this task only, one at a time; a failure reaches run(), or {main}'s suspension, or the log.
 *
 * @internal
 */
final class Loop
{
    private readonly Watches $watches;

    private ?Task $task = null;

    /** @var \SplQueue<array{\Closure, array<mixed>}> */
    private readonly \SplQueue $microtasks;

    /** @var \SplQueue<Callback> */
    private readonly \SplQueue $called;

    /** @var array<string, Callback> enabled since the last tick */
    private array $enabled = [];

    private ?\Fiber $caller = null;

    private readonly \stdClass $drained;

    /** Nothing was called in the tick before. */
    private bool $idle = false;

    private bool $stopped = false;

    private ?\Throwable $failure = null;

    /** Coroutines that wait for the loop. */
    private int $hosts = 0;

    /** @var array<int, Suspension> of {main} */
    private array $mains = [];

    /** {main}'s that was resumed and has not gone on yet: a failure that follows at once is for it still. */
    public ?Suspension $leaving = null;

    /** The coroutine in run(); 0 for none. */
    private int $runner = 0;

    /** Somebody was woken since the last callback: who is resumed goes first. */
    private bool $resumed = false;

    public ?\Closure $errorHandler = null;

    public function __construct(private readonly Driver $driver)
    {
        $this->watches = new Watches();
        $this->microtasks = new \SplQueue();
        $this->called = new \SplQueue();
        $this->drained = new \stdClass();
    }

    /** Whether this is the pooled Fiber of a coroutine, which belongs to the scheduler. */
    public static function isCoroutine(\Fiber $fiber): bool
    {
        return (
            !$fiber->isTerminated()
            && (new \ReflectionFunction((new \ReflectionFiber($fiber))->getCallable()))->getName() === '{coroutine}'
        );
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
        $this->microtasks->enqueue([$closure, $args]);
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

    /** What the loop waits for is not what it was: let it look, or start it. */
    public function changed(): void
    {
        if ($this->watches->wait !== 0) {
            Coroutine::wake($this->watches->wait);
        } elseif ($this->task === null && $this->isWanted() && $this->hasWork()) {
            $this->task = go($this->main(...));
        }
    }

    /** Somebody waits for the loop. */
    public function host(?Suspension $main): void
    {
        if ($main !== null) {
            $this->mains[\spl_object_id($main)] = $main;
            if ($this->task === null && !$this->hasWork()) {
                // Nothing will ever happen: the loop says so itself.
                ++$this->hosts;
                $this->task = go($this->main(...));

                return;
            }
        }
        ++$this->hosts;
        $this->changed();
    }

    /** ... and does so no more. */
    public function unhost(?Suspension $main): void
    {
        --$this->hosts;
        $this->resumed = true;
        if ($main !== null) {
            unset($this->mains[\spl_object_id($main)]);
            $this->leaving = $main;
        }
        $this->changed();
    }

    /** Runs in this coroutine's name until nothing is left to wait for, or until stop(). */
    public function run(): void
    {
        $fiber = \Fiber::getCurrent();
        if ($this->runner !== 0 || ($this->task !== null && $fiber !== null && !self::isCoroutine($fiber))) {
            throw new \Error('The event loop is already running');
        }
        if ($fiber !== null && !self::isCoroutine($fiber)) {
            throw new \Error("Can't call " . __METHOD__ . '() within a fiber (i.e., outside of {main})');
        }
        do {
            $this->runner = -1; // not parked yet
            ++$this->hosts;
            $this->task ??= go($this->main(...));
            try {
                $this->runner = Coroutine::prepare('the end of the Revolt loop', true);
                Coroutine::park($this->runner);
            } finally {
                $this->runner = 0;
                --$this->hosts;
            }
            if ($this->failure !== null) {
                [$failure, $this->failure] = [$this->failure, null];
                throw $failure;
            }
        } while (\gc_collect_cycles() > 0 && !$this->stopped);
    }

    public function close(): void
    {
        $this->watches->close();
    }

    private function isWanted(): bool
    {
        return $this->hosts > 0 || \PHP_SAPI !== 'cli';
    }

    private function hasWork(): bool
    {
        return !$this->microtasks->isEmpty() || !$this->called->isEmpty() || $this->driver->hasWork();
    }

    /** Whether the loop has to end before all is called. */
    private function isInterrupted(): bool
    {
        return $this->failure !== null || !$this->isWanted();
    }

    /** The task. */
    private function main(): void
    {
        try {
            $this->stopped = false;
            $this->invoke();
            while (!$this->stopped && !$this->isInterrupted() && $this->driver->hasWork()) {
                $previousIdle = $this->idle;
                $this->idle = true;
                $this->tick($previousIdle);
                $this->invoke();
            }
        } catch (\Throwable $failure) {
            $this->failure ??= $failure; // a closed stream among those waited for, or the worker ends
        } finally {
            $this->task = null;
        }
        $this->ended();
    }

    /** Tells those for whom this is the end. */
    private function ended(): void
    {
        if ($this->runner !== 0) {
            Coroutine::wake($this->runner);

            return;
        }
        [$failure, $this->failure] = [$this->failure, null];
        if ($failure === null && $this->mains !== [] && !$this->hasWork() && \gc_collect_cycles() > 0 && $this->hasWork()) {
            $this->changed(); // a destructor has something to do

            return;
        }
        if ($failure !== null && $this->leaving !== null) {
            $this->leaving->loopEnded($failure);
        } elseif ($this->mains !== [] && ($failure !== null || !$this->hasWork())) {
            foreach ($this->mains as $main) {
                $main->loopEnded($failure);
            }
        } elseif ($failure !== null) {
            \error_log('Uncaught in the Revolt loop, which goes on: ' . $failure);
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
                $this->called->enqueue($callback);
                $this->idle = false;
            }
        }
        $blocking = $previousIdle && !$this->stopped && $this->driver->hasWork();
        if ($blocking) {
            $this->invoke();
            $blocking = $this->enabled === [] && !$this->isInterrupted() && !$this->stopped && $this->driver->hasWork();
        }
        foreach ($this->watches->wait($blocking) as $callback) {
            $this->called->enqueue($callback);
            $this->idle = false;
        }
    }

    /** Calls what is to be called. A Fiber that a callback has suspended is its own from then on, and the next one goes on. */
    private function invoke(): void
    {
        while (!$this->isInterrupted() && (!$this->microtasks->isEmpty() || !$this->called->isEmpty())) {
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
            while (!$this->isInterrupted() && !$this->called->isEmpty()) {
                $callback = $this->called->dequeue();
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
        if ($this->resumed) {
            $this->resumed = false;
            if ($this->isWanted()) {
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
