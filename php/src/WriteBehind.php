<?php

declare(strict_types=1);

namespace Weft;

use Weft\Queue\Failure;
use Weft\Queue\Message;
use Weft\Queue\Queue;
use Weft\Queue\QueueException;
use Weft\Queue\QueueFull;

/**
 * Writes later, and together: records go into a durable queue at once, and a coroutine hands them on in batches, so that
 * thousands of requests cost one statement.
 *
 * It must know neither what a record means nor where it goes. Invariant: a record that append() has taken is handed on until
 * the writer returns, or becomes a dead letter. It may be handed on more than once (after a failure or a death), so the
 * writer writes idempotently: a unique key, and on conflict nothing.
 */
final class WriteBehind
{
    /** How long a worker that ends goes on writing. */
    private const LAST_S = 2.0;

    private readonly \Closure $isPermanent;

    private int $written = 0;

    private int $batches = 0;

    private int $retries = 0;

    private ?string $failure = null;

    private bool $stopped = false;

    /**
     * @param \Closure(list<string>): void $write writes a batch; throws when it could not
     * @param int $batch_max records handed on at once
     * @param float $age_s_max how long a record waits for company
     * @param int $attempts_max after so many failures that are neither known to pass nor to stay, a record is taken for bad
     * @param float $backoff_s pause after the first failure; each further one doubles it
     * @param float $backoff_s_max longest pause
     * @param (\Closure(\Throwable): ?bool)|null $isPermanent true: these data can never be written; false: it will pass, as
     *     when the database is away; null: not known. Without it: Failure::isPermanent()
     */
    public function __construct(
        private readonly Queue $queue,
        private readonly \Closure $write,
        private readonly int $batch_max = 1_000,
        private readonly float $age_s_max = 0.5,
        private readonly int $attempts_max = 5,
        private readonly float $backoff_s = 0.05,
        private readonly float $backoff_s_max = 5.0,
        ?\Closure $isPermanent = null,
    ) {
        $this->isPermanent = $isPermanent ?? Failure::isPermanent(...);
    }

    /**
     * Takes a record. It is durable when this returns.
     *
     * @throws QueueFull when the writer does not keep up: back-pressure
     * @throws QueueException when the record could not be made durable
     */
    public function append(string $record): void
    {
        $this->queue->append($record);
    }

    /** Starts the coroutine that writes. Once per process; at boot it begins when the worker serves. */
    public function start(): Task
    {
        return go($this->run(...));
    }

    /** Ends the coroutine after its present batch. What is left is written by the process that opens the queue next. */
    public function stop(): void
    {
        $this->stopped = true;
    }

    /** Writes what is in the queue until it is empty; for scripts and tests, without start(). */
    public function drain(): void
    {
        while (($messages = $this->queue->take($this->batch_max, 0.0)) !== []) {
            $this->deliver($messages);
        }
    }

    /**
     * Numbers since the process started.
     *
     * @return array{depth: int, lag_s: float, written: int, batches: int, retries: int, dead: int, failure: ?string}
     *     failure: why the batch at hand could not be written yet; null when all is well
     */
    public function metrics(): array
    {
        return [
            'depth' => $this->queue->depth(),
            'lag_s' => round($this->queue->lag(), 3),
            'written' => $this->written,
            'batches' => $this->batches,
            'retries' => $this->retries,
            'dead' => $this->queue->buried(),
            'failure' => $this->failure,
        ];
    }

    private function run(): void
    {
        $failures = 0;
        while (!$this->stopped) {
            try {
                $messages = $this->queue->take($this->batch_max, $this->age_s_max);
                $this->deliver($messages);
                $failures = 0;
            } catch (CancelledError) {
                $this->last();

                return;
            } catch (\Throwable $error) {
                $this->pause(++$failures, $error); // mostly the queue's failure; in any case the writer goes on
            }
        }
    }

    /** The worker ends. What can be written soon is; the rest stays in the queue for the process that opens it next. */
    private function last(): void
    {
        try {
            timeout(self::LAST_S, $this->drain(...));
        } catch (\Throwable $error) {
            error_log("write-behind: {$this->queue->depth()} records stay in the queue: {$error->getMessage()}");
        }
    }

    /** @param list<Message> $messages */
    private function deliver(array $messages): void
    {
        for ($failures = 0; $messages !== [];) {
            try {
                ($this->write)(array_column($messages, 'record'));
                $this->failure = null;
                $this->batches++;
                $this->written += count($messages);
                $this->queue->acknowledge($messages);

                return;
            } catch (CancelledError|TimeoutException|QueueException $error) {
                throw $error;
            } catch (\Throwable $error) {
                $failures++;
                $permanent = ($this->isPermanent)($error) ?? $failures >= $this->attempts_max;
                if ($permanent) {
                    $this->separate($messages, $error);

                    return;
                }
                $this->pause($failures, $error);
            }
        }
    }

    /**
     * Finds the records that cannot be written: it delivers the halves apart until the bad one is alone.
     *
     * @param list<Message> $messages
     */
    private function separate(array $messages, \Throwable $error): void
    {
        if (count($messages) === 1) {
            error_log("write-behind: a record cannot be written and is a dead letter now: {$error->getMessage()}");
            $this->bury($messages[0], $error->getMessage());

            return;
        }
        foreach (array_chunk($messages, max(1, intdiv(count($messages) + 1, 2))) as $half) {
            $this->deliver($half);
        }
    }

    private function bury(Message $message, string $reason): void
    {
        for ($failures = 1;; $failures++) {
            try {
                $this->queue->bury($message, $reason);
                $this->failure = null;

                return;
            } catch (QueueException $error) {
                $this->pause($failures, $error);
            }
        }
    }

    private function pause(int $failures, \Throwable $error): void
    {
        $this->retries++;
        $pause_s = min($this->backoff_s_max, $this->backoff_s * (2 ** min($failures - 1, 20)));
        if ($this->failure === null) {
            error_log("write-behind: cannot write, will try again until it works: {$error->getMessage()}");
        }
        $this->failure = $error->getMessage();
        // A random part, because the other workers fail at the same time.
        usleep(max(0, (int) ($pause_s * mt_rand(500, 1_000) * 1_000)));
    }
}
