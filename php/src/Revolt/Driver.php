<?php

declare(strict_types=1);

namespace Weft\Revolt;

use Revolt\EventLoop\CallbackType;
use Revolt\EventLoop\InvalidCallbackError;
use Revolt\EventLoop\UnsupportedFeatureException;
use Weft\Coroutine;

/**
 * Revolt's event loop on weft's scheduler: set the variable REVOLT_DRIVER to this class's name. Then what is built on Revolt
 * (AMPHP, for one) runs in handlers, in tasks and in scripts of `weft php`: waiting for it parks the coroutine only.
 *
 * The application brings the package revolt/event-loop; here are only the callbacks: which there are, and whether they are
 * enabled. Loop calls them. Invariant: a callback that is enabled now is not called in this tick.
 */
final class Driver implements \Revolt\EventLoop\Driver
{
    private readonly Loop $loop;

    /** @var array<string, Callback> */
    private array $callbacks = [];

    private string $nextId = 'a';

    /** @var \WeakMap<object, \WeakReference<Suspension>> by Fiber */
    private \WeakMap $suspensions;

    /** @var array<int, \WeakReference<Suspension>> by coroutine, of those that are not Fibers: a script's {main} */
    private array $mains = [];

    public function __construct()
    {
        if (!\class_exists(Coroutine::class, false)) {
            throw new \Error('Weft\Revolt\Driver needs weft: under another PHP, leave the variable REVOLT_DRIVER unset');
        }
        $this->loop = new Loop($this);
        $this->suspensions = new \WeakMap();
    }

    public function __destruct()
    {
        $this->loop->close();
    }

    public function run(): void
    {
        $this->loop->run();
    }

    public function stop(): void
    {
        $this->loop->stop();
    }

    public function isRunning(): bool
    {
        return $this->loop->isRunning();
    }

    public function getSuspension(): \Revolt\EventLoop\Suspension
    {
        $fiber = \Fiber::getCurrent();
        $coroutine = Coroutine::id();
        $known = $fiber === null ? $this->mains[$coroutine] ?? null : $this->suspensions[$fiber] ?? null;
        $suspension = $known?->get();
        if ($suspension !== null && !$suspension->isDead()) {
            return $suspension;
        }
        $suspension = new Suspension($this->loop, $fiber, $fiber === null);
        if ($fiber === null) {
            $this->mains[$coroutine] = \WeakReference::create($suspension);
        } else {
            $this->suspensions[$fiber] = \WeakReference::create($suspension);
        }

        return $suspension;
    }

    public function queue(\Closure $closure, mixed ...$args): void
    {
        $this->loop->queue($closure, ...$args);
    }

    public function defer(\Closure $closure): string
    {
        return $this->register(new Callback($this->nextId, CallbackType::Defer, $closure));
    }

    public function delay(float $delay, \Closure $closure): string
    {
        if ($delay < 0) {
            throw new \Error('Delay must be greater than or equal to zero');
        }

        return $this->register(new Callback($this->nextId, CallbackType::Delay, $closure, $delay));
    }

    public function repeat(float $interval, \Closure $closure): string
    {
        if ($interval < 0) {
            throw new \Error('Interval must be greater than or equal to zero');
        }

        return $this->register(new Callback($this->nextId, CallbackType::Repeat, $closure, $interval));
    }

    public function onReadable(mixed $stream, \Closure $closure): string
    {
        return $this->register(new Callback($this->nextId, CallbackType::Readable, $closure, on: $stream));
    }

    public function onWritable(mixed $stream, \Closure $closure): string
    {
        return $this->register(new Callback($this->nextId, CallbackType::Writable, $closure, on: $stream));
    }

    public function onSignal(int $signal, \Closure $closure): string
    {
        if (!\function_exists('pcntl_signal')) {
            throw new UnsupportedFeatureException('Signals need the extension pcntl');
        }

        return $this->register(new Callback($this->nextId, CallbackType::Signal, $closure, on: $signal));
    }

    public function enable(string $callbackId): string
    {
        $callback = $this->find($callbackId);
        if (!$callback->enabled) {
            $callback->enabled = true;
            $callback->due = $callback->isTimer() ? $this->loop->now() + $callback->interval : 0.0;
            $this->loop->enable($callback);
        }

        return $callbackId;
    }

    public function disable(string $callbackId): string
    {
        $callback = $this->callbacks[$callbackId] ?? null;
        if ($callback?->enabled) {
            $callback->enabled = false;
            $this->loop->disable($callback);
        }

        return $callbackId;
    }

    public function cancel(string $callbackId): void
    {
        $this->disable($callbackId);
        unset($this->callbacks[$callbackId]);
    }

    public function reference(string $callbackId): string
    {
        $this->find($callbackId)->referenced = true;
        $this->loop->changed();

        return $callbackId;
    }

    public function unreference(string $callbackId): string
    {
        if (isset($this->callbacks[$callbackId])) {
            $this->callbacks[$callbackId]->referenced = false;
            $this->loop->changed();
        }

        return $callbackId;
    }

    public function setErrorHandler(?\Closure $errorHandler): void
    {
        $this->loop->calls->errorHandler = $errorHandler;
    }

    public function getErrorHandler(): ?\Closure
    {
        return $this->loop->calls->errorHandler;
    }

    public function getHandle(): mixed
    {
        return null;
    }

    public function getIdentifiers(): array
    {
        return \array_keys($this->callbacks);
    }

    public function getType(string $callbackId): CallbackType
    {
        return $this->find($callbackId)->type;
    }

    public function isEnabled(string $callbackId): bool
    {
        return $this->find($callbackId)->enabled;
    }

    public function isReferenced(string $callbackId): bool
    {
        return $this->find($callbackId)->referenced;
    }

    public function __debugInfo(): array
    {
        return \array_map(static fn (Callback $callback): array => [
            'type' => $callback->type,
            'enabled' => $callback->enabled,
            'referenced' => $callback->referenced,
        ], $this->callbacks);
    }

    /** @internal Whether the loop has something to wait for. */
    public function hasWork(): bool
    {
        foreach ($this->callbacks as $callback) {
            if ($callback->enabled && $callback->referenced) {
                return true;
            }
        }

        return false;
    }

    /** @internal Whether a callback whose event has come is to be called. A callback that is called once is removed. */
    public function take(Callback $callback): bool
    {
        if (!$callback->invokable || !isset($this->callbacks[$callback->id])) {
            return false;
        }
        if ($callback->type === CallbackType::Defer || $callback->type === CallbackType::Delay) {
            $this->cancel($callback->id);
        } elseif ($callback->type === CallbackType::Repeat) {
            $this->disable($callback->id);
            $this->enable($callback->id);
        }

        return true;
    }

    private function register(Callback $callback): string
    {
        $this->nextId++;
        $callback->due = $callback->isTimer() ? $this->loop->now() + $callback->interval : 0.0;
        $this->callbacks[$callback->id] = $callback;
        $this->loop->enable($callback);

        return $callback->id;
    }

    private function find(string $callbackId): Callback
    {
        return $this->callbacks[$callbackId] ?? throw InvalidCallbackError::invalidIdentifier($callbackId);
    }
}
