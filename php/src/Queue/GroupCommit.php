<?php

declare(strict_types=1);

namespace Weft\Queue;

use Weft\CancelledError;
use Weft\Coroutine;

/**
 * Makes one flush of what many coroutines commit at the same time, such as one fsync or one pipeline.
 *
 * While a flush runs, what comes next gathers for the following one: the slower the flush, the larger the groups. It
 * knows neither disks nor servers. Invariant: commit() returns after the flush that held its item, or throws what that
 * flush threw.
 */
final class GroupCommit
{
    /** @var list<Commit> */
    private array $gathered = [];

    private bool $running = false;

    /**
     * @param \Closure $flush gets a list of the items; may return a result for each, in order
     * @param int $items_max the most items of one flush
     */
    public function __construct(private readonly \Closure $flush, private readonly int $items_max = 1_000) {}

    /** Waits until the item has been flushed; the result is what the flush returned for it. */
    public function commit(mixed $item): mixed
    {
        if (!class_exists(Coroutine::class, false) || Coroutine::id() === 0) {
            return ($this->flush)([$item])[0] ?? null; // nobody to share with
        }
        // In this order: whoever runs between two of these lines finds what has been gathered, and somebody to flush it.
        $this->gathered[] = $commit = new Commit($item);
        if (!$this->running) {
            $this->begin();
        }
        while (!$commit->ended) {
            $commit->wait = Coroutine::prepare('a group commit');
            Coroutine::park($commit->wait);
        }

        return $commit->error === null ? $commit->result : throw $commit->error;
    }

    /** Starts the coroutine that flushes. From here to its end, what has been gathered has somebody to flush it. */
    private function begin(): void
    {
        $this->running = true;
        try {
            \Weft\go($this->run(...));
        } catch (\Throwable $error) {
            [$this->running, $this->gathered] = [false, []]; // one item is there, that of who gets this
            throw $error;
        }
    }

    private function run(): void
    {
        while ($this->gathered !== []) {
            try {
                Coroutine::yield(); // whoever is ready now may still join
            } catch (CancelledError) {
                // Others wait for this: it is carried out all the same.
            }
            /** @var list<Commit> $group */
            $group = array_splice($this->gathered, 0, $this->items_max);
            $this->flush($group);
        }
        $this->running = false;
        if ($this->gathered !== [] && !$this->running) {
            $this->begin(); // somebody came between the last look and now
        }
    }

    /** @param list<Commit> $group */
    private function flush(array $group): void
    {
        $error = null;
        $results = null;
        try {
            $results = ($this->flush)(array_column($group, 'item'));
        } catch (\Throwable $thrown) {
            // A cancellation is the flush's own: whoever waits has not been cancelled.
            $error = $thrown instanceof CancelledError ? new QueueException('The flush was interrupted', 0, $thrown) : $thrown;
        }
        foreach ($group as $i => $commit) {
            $commit->ended = true;
            $commit->error = $error;
            $commit->result = $results[$i] ?? null;
            if ($commit->wait !== 0) {
                Coroutine::wake($commit->wait);
            }
        }
    }
}
