<?php

declare(strict_types=1);

namespace Weft\Queue;

use Weft\Coroutine;

/**
 * A queue in a directory of this machine; it needs no server.
 *
 * Each process appends to a file of its own and consumes what it appended; the first process that sees a dead process's
 * file takes it over, within a second. Concurrent appends share one fsync. It must not know what a record means. Invariant:
 * a file is removed or emptied only when every record in it has been acknowledged or buried.
 */
final class FileQueue implements Queue
{
    private const LOOK_AROUND_S = 1.0;

    /** Dead letters, one JSON object per line. */
    private const DEAD = 'dead.jsonl';

    private readonly GroupCommit $commits;

    private ?Segment $active = null;

    private ?Segment $adopted = null;

    /** @var list<Message> not taken yet, from $next on */
    private array $ready = [];

    private int $next = 0;

    private int $depth = 0;

    /** @var array<int, Message> taken and neither acknowledged nor buried, by object id: a consumer that failed gets them again */
    private array $taken = [];

    private float $looked_at = 0.0;

    /** The consumer's wait while it wants $wanted records; 0 when it does not wait. */
    private int $consumer = 0;

    private int $wanted = 0;

    /**
     * @param string $directory is made if it is missing; on a local disk
     * @param int $depth_max records waiting in this process, before append() waits
     * @param float $full_s_max how long append() waits for room
     * @param int $segment_bytes_max size at which the next file is begun
     * @param int $record_bytes_max the longest record
     */
    public function __construct(
        private readonly string $directory,
        private readonly int $depth_max = 100_000,
        private readonly float $full_s_max = 2.0,
        private readonly int $segment_bytes_max = 8 << 20,
        private readonly int $record_bytes_max = 64 << 10,
    ) {
        if (!is_dir($directory) && !@mkdir($directory, 0o750, true) && !is_dir($directory)) {
            throw new QueueException("Cannot make the queue's directory $directory: " . (error_get_last()['message'] ?? ''));
        }
        $this->commits = new GroupCommit($this->flush(...));
    }

    public function append(string $record): void
    {
        if (strlen($record) > $this->record_bytes_max) {
            throw new \ValueError(sprintf('A record has at most %d bytes, not %d', $this->record_bytes_max, strlen($record)));
        }
        if ($this->depth >= $this->depth_max) {
            $this->waitForRoom();
        }
        $this->commits->commit($record);
    }

    public function take(int $max, float $wait): array
    {
        if ($this->taken !== []) {
            return array_values(array_slice($this->taken, 0, $max));
        }
        $this->lookAround();
        $missing = $max - (count($this->ready) - $this->next);
        if ($missing > 0 && $wait > 0) {
            $this->wanted = $max;
            $this->consumer = Coroutine::prepare('records of a queue');
            Coroutine::park($this->consumer, $wait);
            $this->consumer = 0;
        }
        $messages = array_slice($this->ready, $this->next, $max);
        $this->next += count($messages);
        if ($this->next === count($this->ready)) {
            [$this->ready, $this->next] = [[], 0];
        } elseif ($this->next >= 10_000) {
            [$this->ready, $this->next] = [array_slice($this->ready, $this->next), 0];
        }
        foreach ($messages as $message) {
            $this->taken[spl_object_id($message)] = $message;
        }

        return $messages;
    }

    public function acknowledge(array $messages): void
    {
        $this->depth -= count($messages);
        foreach ($messages as $message) {
            unset($this->taken[spl_object_id($message)]);
            $segment = $message->origin;
            if (--$segment->unacknowledged > 0) {
                continue;
            }
            if ($segment !== $this->active) {
                $segment->remove();
                $this->adopted = $segment === $this->adopted ? null : $this->adopted;
            } elseif (!$segment->flushing) {
                $segment->clear();
            }
        }
    }

    public function bury(Message $message, string $reason): void
    {
        $letter = json_encode(
            ['buried_at' => microtime(true), 'appended_at' => $message->at, 'reason' => $reason, 'record' => $message->record],
            JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE,
        );
        $file = @fopen("{$this->directory}/" . self::DEAD, 'ab');
        if ($file === false || !flock($file, LOCK_EX) || @fwrite($file, "$letter\n") !== strlen($letter) + 1 || !@fsync($file)) {
            throw new QueueException("Cannot write the dead letter to {$this->directory}/" . self::DEAD);
        }
        $this->acknowledge([$message]);
    }

    public function depth(): int
    {
        return $this->depth;
    }

    public function lag(): float
    {
        $first = $this->taken === [] ? null : $this->taken[array_key_first($this->taken)];
        $oldest = min($first->at ?? INF, $this->ready[$this->next]->at ?? INF);

        return $oldest === INF ? 0.0 : max(0.0, microtime(true) - $oldest);
    }

    public function buried(): int
    {
        $file = @fopen("{$this->directory}/" . self::DEAD, 'rb');
        for ($lines = 0; $file !== false && fgets($file) !== false; $lines++);

        return $lines;
    }

    /** @param list<string> $records */
    private function flush(array $records): void
    {
        $segment = $this->writable();
        $segment->flushing = true;
        try {
            $segment->append(implode('', array_map(Segment::frame(...), $records)));
        } finally {
            $segment->flushing = false;
        }
        $now = microtime(true);
        foreach ($records as $record) {
            $this->ready[] = new Message($record, $now, $segment);
        }
        $segment->unacknowledged += count($records);
        $this->depth += count($records);
        $this->wakeConsumer();
    }

    private function writable(): Segment
    {
        $segment = $this->active;
        if ($segment !== null && $segment->isOpen() && $segment->bytes < $this->segment_bytes_max) {
            return $segment;
        }
        $this->active = null; // it is removed with its last acknowledgement
        if ($segment !== null && $segment->unacknowledged === 0) {
            $segment->remove();
        }

        return $this->active = Segment::create($this->directory);
    }

    private function wakeConsumer(): void
    {
        if ($this->consumer !== 0 && count($this->ready) - $this->next >= $this->wanted) {
            Coroutine::wake($this->consumer);
            $this->consumer = 0;
        }
    }

    /** Takes over one file whose owner has died, once in a while. */
    private function lookAround(): void
    {
        $now = microtime(true);
        if ($this->adopted !== null || $now - $this->looked_at < self::LOOK_AROUND_S) {
            return;
        }
        $this->looked_at = $now;
        foreach (glob("{$this->directory}/*.log") ?: [] as $path) {
            $segment = $path === $this->active?->path ? null : Segment::adopt($path);
            if ($segment === null) {
                continue;
            }
            $messages = $segment->read();
            if ($messages === []) {
                $segment->remove();
                continue;
            }
            $this->adopted = $segment;
            $this->ready = [...$this->ready, ...$messages];
            $this->depth += count($messages);
            $this->looked_at = 0.0; // there may be more: look again when this one is done
            error_log(sprintf('weft queue: %d records of %s, whose process has ended, are taken over', count($messages), $path));

            return;
        }
    }

    private function waitForRoom(): void
    {
        $deadline = microtime(true) + $this->full_s_max;
        do {
            if (microtime(true) >= $deadline) {
                throw new QueueFull("The queue in {$this->directory} holds {$this->depth} records, and may hold {$this->depth_max}");
            }
            usleep(5_000);
        } while ($this->depth >= $this->depth_max);
    }
}
