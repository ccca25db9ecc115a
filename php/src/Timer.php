<?php

declare(strict_types=1);

namespace Weft;

use Weft\Internal\Deadline;
use Weft\Internal\Report;

/**
 * Calls a function later, once or again and again, on a task of its own. Calls of one timer never overlap: calls that fall due
 * during a call are skipped. What the function throws is logged; it does not end the timer.
 *
 * A pending timer keeps a script alive. Dropping the object does not cancel it.
 */
final class Timer
{
    private bool $active = true;

    /** The wait for the next call; 0 when there is none. */
    private int $wait = 0;

    private function __construct(
        private readonly float $seconds,
        private readonly bool $repeats,
        private readonly \Closure $callback,
    ) {}

    /**
     * Calls $work once, so many seconds from now.
     *
     * @param callable(self): void $callback
     */
    public static function after(float $seconds, callable $callback): self
    {
        return self::start(new self(max(0.0, $seconds), false, $callback(...)));
    }

    /**
     * Calls $work again and again, at multiples of so many seconds from now.
     *
     * @param float $seconds at least 0.001
     * @param callable(self): void $callback
     */
    public static function every(float $seconds, callable $callback): self
    {
        if ($seconds < 0.001) {
            throw new \ValueError("Timer::every(): at least 0.001 seconds must lie between two calls, not $seconds");
        }

        return self::start(new self($seconds, true, $callback(...)));
    }

    /** No further call begins; one that runs goes on. False: there was none left to cancel. */
    public function cancel(): bool
    {
        $was = $this->active;
        $this->active = false;
        if ($this->wait !== 0) {
            Coroutine::wake($this->wait);
        }

        return $was;
    }

    /** Whether another call will come. */
    public function active(): bool
    {
        return $this->active;
    }

    private static function start(self $timer): self
    {
        $due = Deadline::now() + $timer->seconds;
        go($timer->run(...), $due);

        return $timer;
    }

    /** @param float $due when the first call is due, on the clock of deadlines */
    private function run(float $due): void
    {
        try {
            while ($this->sleep($due)) {
                $this->active = $this->repeats;
                $this->call();
                if ($this->repeats) {
                    $missed = max(0.0, floor((Deadline::now() - $due) / $this->seconds));
                    $due += ($missed + 1) * $this->seconds;
                }
            }
        } finally {
            $this->active = false;
        }
    }

    /** Waits for the next call. False: cancelled. */
    private function sleep(float $due): bool
    {
        if ($this->active) {
            $left = max(0.0, $due - Deadline::now());
            $this->wait = Coroutine::prepare($this);
            try {
                Coroutine::park($this->wait, $left);
            } finally {
                $this->wait = 0;
            }
        }

        return $this->active;
    }

    private function call(): void
    {
        try {
            ($this->callback)($this);
        } catch (CancelledError $cancelled) {
            throw $cancelled;
        } catch (\Throwable $failure) {
            Report::failure($this->repeats ? 'the callback of Timer::every()' : 'the callback of Timer::after()', $failure);
        }
    }
}
