<?php

declare(strict_types=1);

namespace Weft\Queue;

/**
 * A queue in a Redis stream, shared by all workers of all hosts.
 *
 * It is as durable as Redis is set to be: with `appendfsync always` a record that was appended survives kill -9 of Redis.
 * Other consumers take over what one took and did not acknowledge. Concurrent appends share one pipeline. Needs
 * Redis 6.2 or later. It must not know what a record means. Invariant: an entry leaves the stream only when it has been
 * acknowledged or buried.
 */
final class RedisQueue implements Queue
{
    private const GROUP = 'writers';

    private readonly GroupCommit $commits;

    private readonly string $consumer;

    private ?\Redis $appending = null;

    private ?\Redis $consuming = null;

    private int $depth = 0;

    private int $buried = 0;

    private float $oldest_at = INF;

    private float $claimed_at = 0.0;

    /** The consumer failed: what it had taken is still its own, and comes first. */
    private bool $isReturning = false;

    /**
     * @param \Closure(): \Redis $connect makes a connection; called twice, and again after a failure
     * @param string $stream the key; dead letters are in the stream of this name with ":dead"
     * @param int $depth_max entries in the stream, before append() waits
     * @param float $full_s_max how long append() waits for room
     * @param float $claim_s how long a record may be with one consumer before another takes it over
     */
    public function __construct(
        private readonly \Closure $connect,
        private readonly string $stream,
        private readonly int $depth_max = 1_000_000,
        private readonly float $full_s_max = 2.0,
        private readonly float $claim_s = 10.0,
    ) {
        $this->commits = new GroupCommit($this->flush(...));
        $this->consumer = sprintf('%s-%d-%s', gethostname(), getmypid(), bin2hex(random_bytes(4)));
    }

    public function append(string $record): void
    {
        if ($this->depth >= $this->depth_max) {
            $this->waitForRoom();
        }
        $this->commits->commit($record);
    }

    public function take(int $max, float $wait): array
    {
        return $this->consume(function (\Redis $redis) use ($max, $wait): array {
            if ($this->isReturning) {
                $messages = $this->read($redis, $max, '0');
                $this->isReturning = $messages !== [];
                if ($messages !== []) {
                    return $messages;
                }
            }
            $now = microtime(true);
            if ($now - $this->claimed_at >= $this->claim_s) {
                $this->claimed_at = $now;
                $this->buried = (int) $redis->xLen("{$this->stream}:dead");
                $claimed = $this->claim($redis, $max);
                if ($claimed !== []) {
                    return $claimed;
                }
            }
            $messages = $this->read($redis, $max);
            if (count($messages) < $max && $wait > 0) {
                usleep(max(0, (int) ($wait * 1e6))); // taking each record as it comes would cost a statement each
                array_push($messages, ...$this->read($redis, $max - count($messages)));
            }
            $this->look($redis);

            return $messages;
        });
    }

    public function acknowledge(array $messages): void
    {
        $ids = array_column($messages, 'origin');
        $this->consume(function (\Redis $redis) use ($ids): void {
            $redis->multi(); // both or none: an entry that is only acknowledged would stay in the stream
            $redis->xAck($this->stream, self::GROUP, $ids);
            $redis->xDel($this->stream, $ids);
            $redis->exec();
            $this->depth = max(0, $this->depth - count($ids));
        });
    }

    public function bury(Message $message, string $reason): void
    {
        $this->consume(function (\Redis $redis) use ($message, $reason): void {
            $redis->multi();
            $letter = ['record' => $message->record, 'reason' => $reason, 'appended_at' => (string) $message->at];
            $redis->xAdd("{$this->stream}:dead", '*', $letter);
            $redis->xAck($this->stream, self::GROUP, [$message->origin]);
            $redis->xDel($this->stream, [$message->origin]);
            $redis->exec();
            $this->buried++;
            $this->depth = max(0, $this->depth - 1);
        });
    }

    public function depth(): int
    {
        return $this->depth;
    }

    public function lag(): float
    {
        return $this->oldest_at === INF ? 0.0 : max(0.0, microtime(true) - $this->oldest_at);
    }

    public function buried(): int
    {
        return $this->buried;
    }

    /** @param list<string> $records */
    private function flush(array $records): void
    {
        try {
            $redis = $this->appending ??= ($this->connect)();
            $redis->multi(\Redis::PIPELINE);
            foreach ($records as $record) {
                $redis->xAdd($this->stream, '*', ['r' => $record]);
            }
            $ids = $redis->exec();
        } catch (\RedisException $error) {
            $this->appending = null;
            throw new QueueException("Redis did not take the records: {$error->getMessage()}", 0, $error);
        }
        if (!is_array($ids) || in_array(false, $ids, true)) {
            $reason = $redis->getLastError() ?? 'the connection was lost';
            $this->appending = null;
            throw new QueueException("Redis did not take the records: $reason");
        }
        $this->depth += count($records);
    }

    /**
     * @template T
     * @param \Closure(\Redis): T $work
     * @return T
     */
    private function consume(\Closure $work): mixed
    {
        try {
            if ($this->consuming === null) {
                $redis = ($this->connect)();
                $redis->xGroup('CREATE', $this->stream, self::GROUP, '0', true); // false if it is there already
                $redis->clearLastError();
                $this->consuming = $redis;
            }

            return $work($this->consuming);
        } catch (\RedisException $error) {
            [$this->consuming, $this->isReturning] = [null, true];
            throw new QueueException("Redis did not answer the consumer: {$error->getMessage()}", 0, $error);
        } catch (QueueException $error) {
            [$this->consuming, $this->isReturning] = [null, true];
            throw $error;
        }
    }

    /**
     * @param string $from ">" for entries that no consumer has taken yet, "0" for those that this one has taken
     * @return list<Message>
     */
    private function read(\Redis $redis, int $max, string $from = '>'): array
    {
        $read = $redis->xReadGroup(self::GROUP, $this->consumer, [$this->stream => $from], $max);
        if (!is_array($read)) {
            // The group is gone when Redis has lost its data: the next connection makes it again.
            throw new QueueException('Redis did not read the stream: ' . ($redis->getLastError() ?? 'no reason given'));
        }

        return self::messages($read[$this->stream] ?? []);
    }

    /** @return list<Message> those that a consumer took and kept for too long, this one included */
    private function claim(\Redis $redis, int $max): array
    {
        $idle_ms = (string) (int) ($this->claim_s * 1e3);
        $command = ['XAUTOCLAIM', $this->stream, self::GROUP, $this->consumer, $idle_ms, '0-0', 'COUNT', (string) $max];
        $answer = $redis->rawCommand(...$command);
        /** @var list<array{string, array{1?: string}|null}> $claimed */
        $claimed = is_array($answer) ? $answer[1] ?? [] : [];
        $entries = [];
        foreach ($claimed as [$id, $fields]) {
            if ($fields !== null) {
                $entries[$id] = ['r' => $fields[1] ?? ''];
            }
        }

        return self::messages($entries);
    }

    /**
     * @param array<string, array<string, string>> $entries
     * @return list<Message>
     */
    private static function messages(array $entries): array
    {
        $messages = [];
        foreach ($entries as $id => $fields) {
            $messages[] = new Message($fields['r'] ?? '', (int) $id / 1e3, $id);
        }

        return $messages;
    }

    private function look(\Redis $redis): void
    {
        $redis->multi(\Redis::PIPELINE);
        $redis->xLen($this->stream);
        $redis->xRange($this->stream, '-', '+', 1);
        /** @var array{int|false, array<string, array<string, string>>|false} $answers */
        $answers = $redis->exec();
        [$depth, $first] = $answers;
        $this->depth = (int) $depth;
        $this->oldest_at = is_array($first) && $first !== [] ? (int) array_key_first($first) / 1e3 : INF;
    }

    private function waitForRoom(): void
    {
        $deadline = microtime(true) + $this->full_s_max;
        do {
            if (microtime(true) >= $deadline) {
                throw new QueueFull("The stream {$this->stream} holds {$this->depth} records, and may hold {$this->depth_max}");
            }
            usleep(5_000);
        } while ($this->depth >= $this->depth_max);
    }
}
