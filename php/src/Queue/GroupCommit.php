<?php

declare(strict_types=1);

namespace Weft\Queue;

use Weft\CancelledError;
use Weft\Coroutine;

/**
 * Combines what many coroutines commit at the same time into one flush, such as one fsync or one pipeline.
 *
 * While a flush runs, new items gather for the following one: the slower the flush, the larger the groups. It must
 * know neither disks nor servers. Invariant: commit() returns after the flush that held its item, or throws what that
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
            return ($this->flush)([$item])[0] ?? null; // no other coroutine to share with
        }
        // In this order: a coroutine that runs between two of these lines finds the gathered items, and a flush that takes them.
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

    /** Starts the coroutine that flushes. From here to its end, gathered items are sure to be flushed. */
    private function begin(): void
    {
        $this->running = true;
        try {
            \Weft\go($this->run(...));
        } catch (\Throwable $error) {
            [$this->running, $this->gathered] = [false, []]; // the one item there is the caller's
            throw $error;
        }
    }

    private function run(): void
    {
        while ($this->gathered !== []) {
            try {
                Coroutine::yield(); // coroutines that are ready now may still join
            } catch (CancelledError) {
                // Others wait for this flush: it runs all the same.
            }
            /** @var list<Commit> $group */
            $group = array_splice($this->gathered, 0, $this->items_max);
            $this->flush($group);
        }
        $this->running = false;
        if ($this->gathered !== [] && !$this->running) {
            $this->begin(); // an item came between the last look and now
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
            // A cancellation is the flush's own: the waiting coroutines have not been cancelled.
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
