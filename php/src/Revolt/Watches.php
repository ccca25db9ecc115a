<?php

declare(strict_types=1);

namespace Weft\Revolt;

use Revolt\EventLoop\CallbackType;
use Revolt\EventLoop\UnsupportedFeatureException;
use Weft\Coroutine;

/**
 * What the loop waits for: timers, streams and signals, and the one wait for all of them.
 *
 * It must not know how callbacks are called. Invariant: $wait is the loop's wait while it is parked here, and 0 otherwise.
 *
 * @internal
 */
final class Watches
{
    /** Ends the loop's wait, if it is parked: Coroutine::wake($wait). */
    public int $wait = 0;

    /** @var \SplMinHeap<array{float, int, Callback}> */
    private \SplMinHeap $timers;

    private int $armed = 0;

    private int $timersLive = 0;

    /** @var array<int, resource> */
    private array $readStreams = [];

    /** @var array<int, resource> */
    private array $writeStreams = [];

    /** @var array<int, array<string, Callback>> */
    private array $readers = [];

    /** @var array<int, array<string, Callback>> */
    private array $writers = [];

    /** @var array<int, array<string, Callback>> */
    private array $signals = [];

    /** @var list<int> that have come */
    private array $came = [];

    public function __construct()
    {
        $this->timers = new \SplMinHeap();
    }

    /** Seconds that only go forward. */
    public function now(): float
    {
        return \hrtime(true) / 1e9;
    }

    public function add(Callback $callback): void
    {
        match ($callback->type) {
            CallbackType::Delay, CallbackType::Repeat => $this->arm($callback),
            CallbackType::Readable => $this->addStream($callback, $this->readStreams, $this->readers),
            CallbackType::Writable => $this->addStream($callback, $this->writeStreams, $this->writers),
            CallbackType::Signal => $this->addSignal($callback),
            CallbackType::Defer => null,
        };
    }

    public function remove(Callback $callback): void
    {
        match ($callback->type) {
            CallbackType::Delay, CallbackType::Repeat => $this->disarm($callback),
            CallbackType::Readable => $this->removeStream($callback, $this->readStreams, $this->readers),
            CallbackType::Writable => $this->removeStream($callback, $this->writeStreams, $this->writers),
            CallbackType::Signal => $this->removeSignal($callback),
            CallbackType::Defer => null,
        };
    }

    /**
     * Parks until something happens, or only looks.
     *
     * @return list<Callback> to be called
     */
    public function wait(bool $blocking): array
    {
        $timeout = !$blocking || $this->came !== [] ? 0.0 : $this->timeout();
        $this->wait = Coroutine::prepare('events of the Revolt loop', $this->signals !== []);
        try {
            [$read, $write] = Coroutine::parkOn($this->wait, $this->readStreams, $this->writeStreams, $timeout);
        } finally {
            $this->wait = 0;
        }
        $called = [];
        foreach ($this->came as $signal) {
            \array_push($called, ...\array_values($this->signals[$signal] ?? []));
        }
        $this->came = [];
        foreach ($read as $stream) {
            \array_push($called, ...\array_values($this->readers[$stream] ?? []));
        }
        foreach ($write as $stream) {
            \array_push($called, ...\array_values($this->writers[$stream] ?? []));
        }
        $this->due($called);

        return $called;
    }

    /** Restores the default signal handlers: PHP's handlers would outlive the loop. */
    public function close(): void
    {
        foreach (\array_keys($this->signals) as $signal) {
            \pcntl_signal($signal, \SIG_DFL);
        }
        $this->signals = [];
    }

    /** @param list<Callback> $called */
    private function due(array &$called): void
    {
        $now = $this->now();
        while (!$this->timers->isEmpty()) {
            [$due, $armed, $callback] = $this->timers->top();
            if ($callback->armed === $armed) {
                if ($due > $now) {
                    return;
                }
                $callback->armed = 0;
                --$this->timersLive;
                $called[] = $callback;
            }
            $this->timers->extract();
        }
    }

    private function timeout(): ?float
    {
        while (!$this->timers->isEmpty()) {
            [$due, $armed, $callback] = $this->timers->top();
            if ($callback->armed === $armed) {
                return \max(0.0, $due - $this->now());
            }
            $this->timers->extract();
        }

        return null;
    }

    private function arm(Callback $callback): void
    {
        $callback->armed = ++$this->armed;
        ++$this->timersLive;
        $this->timers->insert([$callback->due, $callback->armed, $callback]);
    }

    /** Its entry stays in the heap until its time comes, or until such entries are most of it. */
    private function disarm(Callback $callback): void
    {
        if ($callback->armed === 0) {
            return;
        }
        $callback->armed = 0;
        if (\count($this->timers) > (2 * --$this->timersLive) + 8) {
            $live = new \SplMinHeap();
            foreach ($this->timers as $entry) {
                if ($entry[2]->armed === $entry[1]) {
                    $live->insert($entry);
                }
            }
            $this->timers = $live;
        }
    }

    /**
     * @param array<int, resource> $streams
     * @param array<int, array<string, Callback>> $callbacks
     */
    private function addStream(Callback $callback, array &$streams, array &$callbacks): void
    {
        /** @var resource $stream */
        $stream = $callback->on;
        $id = (int) $stream;
        $streams[$id] = $stream;
        $callbacks[$id][$callback->id] = $callback;
    }

    /**
     * @param array<int, resource> $streams
     * @param array<int, array<string, Callback>> $callbacks
     */
    private function removeStream(Callback $callback, array &$streams, array &$callbacks): void
    {
        $id = (int) $callback->on;
        unset($callbacks[$id][$callback->id]);
        if (($callbacks[$id] ?? []) === []) {
            unset($callbacks[$id], $streams[$id]);
        }
    }

    private function addSignal(Callback $callback): void
    {
        $signal = (int) $callback->on;
        if (!isset($this->signals[$signal])) {
            \pcntl_async_signals(true);
            if (!@\pcntl_signal($signal, $this->signalled(...))) {
                throw new UnsupportedFeatureException("Signal $signal cannot be caught");
            }
        }
        $this->signals[$signal][$callback->id] = $callback;
    }

    private function removeSignal(Callback $callback): void
    {
        unset($this->signals[$callback->on][$callback->id]);
        if (($this->signals[$callback->on] ?? []) === []) {
            unset($this->signals[$callback->on]);
            @\pcntl_signal($callback->on, \SIG_DFL);
        }
    }

    private function signalled(int $signal): void
    {
        $this->came[] = $signal;
        if ($this->wait !== 0) {
            Coroutine::wake($this->wait);
        }
    }
}
