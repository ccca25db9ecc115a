<?php

declare(strict_types=1);

namespace Weft\Internal;

/**
 * Coroutines that wait for the same thing, first come, first served. A linked list: a waiter that gives up leaves at once,
 * wherever it stands, so nothing is ever kept for, or given to, a waiter that has gone.
 *
 * @internal
 */
final class WaitQueue implements \Countable
{
    private ?Place $first = null;

    private ?Place $last = null;

    /** How many wait in this queue. Only this class changes it. */
    public int $count = 0;

    /** Loads what a wait needs before a wait is open: an autoloader may wait itself. */
    public function __construct()
    {
        class_exists(Waiter::class);
        class_exists(Place::class);
    }

    /** Puts a waiter at the end. */
    public function add(Waiter $waiter, mixed $value = null): Place
    {
        $place = new Place($waiter, $value);
        $place->queue = $this;
        $place->before = $this->last;
        if ($this->last === null) {
            $this->first = $place;
        } else {
            $this->last->behind = $place;
        }
        $this->last = $place;
        $this->count++;

        return $place;
    }

    /** Takes a waiter out; nothing happens if it is no longer in this queue. */
    public function remove(Place $place): void
    {
        if ($place->queue !== $this) {
            return;
        }
        if ($place->before === null) {
            $this->first = $place->behind;
        } else {
            $place->before->behind = $place->behind;
        }
        if ($place->behind === null) {
            $this->last = $place->before;
        } else {
            $place->behind->before = $place->before;
        }
        $place->before = $place->behind = $place->queue = null;
        $this->count--;
    }

    /** Serves the first that still waits. Null: none waits, and the caller keeps the value. */
    public function serve(mixed $value = null): ?Place
    {
        while (($place = $this->first) !== null) {
            $this->remove($place);
            if ($place->waiter->serve($place, $value)) {
                return $place;
            }
        }

        return null;
    }

    /** Sends all away with nothing. */
    public function dismiss(): void
    {
        while (($place = $this->first) !== null) {
            $this->remove($place);
            $place->waiter->dismiss();
        }
    }

    /** How many wait in this queue. */
    public function count(): int
    {
        return $this->count;
    }
}
