<?php

declare(strict_types=1);

namespace Weft\Revolt;

/**
 * The coroutines that wait for the loop: in a suspension, or one in run().
 *
 * It must not know what the loop does. Invariant: a script's loop runs only while a coroutine waits for it, so that a script
 * ends as it does under the php command.
 *
 * @internal
 */
final class Hosts
{
    /** The coroutine in run() waits by this number; -1 before it waits, 0 when none is in run(). */
    public int $runner = 0;

    /** The suspension of {main} that was resumed and has not gone on yet: a failure that follows at once is still for it. */
    public ?Suspension $leaving = null;

    /** A coroutine was woken since the last callback: it goes first. */
    public bool $resumed = false;

    /** @var array<int, Suspension> of {main} */
    private array $mains = [];

    private int $count = 0;

    /** Whether the loop is wanted: by a waiting coroutine, or because this is a server. */
    public function want(): bool
    {
        return $this->count > 0 || \PHP_SAPI !== 'cli';
    }

    /** A coroutine is about to wait in run(). */
    public function beginRun(): void
    {
        $this->runner = -1;
        ++$this->count;
    }

    public function endRun(): void
    {
        $this->runner = 0;
        --$this->count;
    }

    /** A coroutine waits for the loop from now on; $main is the suspension if it is a script's {main}. */
    public function enter(?Suspension $main): void
    {
        ++$this->count;
        if ($main !== null) {
            $this->mains[\spl_object_id($main)] = $main;
        }
    }

    /** It waits no longer. */
    public function leave(?Suspension $main): void
    {
        --$this->count;
        $this->resumed = true;
        if ($main !== null) {
            unset($this->mains[\spl_object_id($main)]);
            $this->leaving = $main;
        }
    }

    public function isMainWaiting(): bool
    {
        return $this->mains !== [];
    }

    /** Tells {main} that the loop has ended with this failure, or has nothing left that could wake it. */
    public function end(?\Throwable $failure): void
    {
        foreach ($this->mains as $main) {
            $main->loopEnded($failure);
        }
    }
}
