<?php

declare(strict_types=1);

namespace Weft\Queue;

/**
 * A durable first-in-first-out queue of short records, written by many coroutines and consumed in batches.
 *
 * Delivery is at least once: what was taken and not acknowledged when its process died is delivered again, to whichever
 * process finds it. A consumer therefore writes idempotently. Order is kept among the records of one process.
 */
interface Queue
{
    /**
     * Puts a record in. When it returns, the record is durable: it survives kill -9 of this process and of the backend.
     * Concurrent calls share one flush. While the queue is full it waits.
     *
     * @throws QueueFull when the queue has stayed full
     * @throws QueueException when the record could not be made durable; it may be delivered nevertheless
     */
    public function append(string $record): void;

    /**
     * Takes the oldest records. Waits until there are $max of them, at most $wait seconds, then returns what there is.
     * They stay in the queue until they are acknowledged or buried; a consumer that did neither gets them again. There is
     * one consumer per Queue object.
     *
     * @return list<Message>
     * @throws QueueException when the backend fails
     */
    public function take(int $max, float $wait): array;

    /**
     * Removes records for good: they have been dealt with.
     *
     * @param list<Message> $messages
     * @throws QueueException when the backend fails; then they are delivered again one day
     */
    public function acknowledge(array $messages): void;

    /**
     * Moves a record to the list of dead letters, with the reason.
     *
     * @throws QueueException when the backend fails
     */
    public function bury(Message $message, string $reason): void;

    /** Records that are neither acknowledged nor buried, as far as this process knows. */
    public function depth(): int;

    /** Age of the oldest of them in seconds; 0.0 when there is none. */
    public function lag(): float;

    /** Number of dead letters. */
    public function buried(): int;
}
