<?php

/**
 * Channels and locks, which the weft server provides natively: a part of what weft.php declares.
 */

namespace Weft;

/** A channel is closed: it takes no more values, or it is empty and none will come. */
class ChannelClosed extends \RuntimeException {}

/**
 * Passes values between coroutines of a process, in order, each to one receiver.
 *
 * It holds as many values as its capacity says; a sender waits while it is full, a receiver while it is empty. With
 * capacity 0 sender and receiver meet. The coroutine that has waited longest comes first. Neither a timeout nor a cancellation
 * loses a value: what a cancelled receiver had been given goes to the next one.
 *
 * @template T
 * @implements \IteratorAggregate<int, T>
 */
final class Channel implements \IteratorAggregate, \Countable
{
    /** @param int $capacity how many values wait here for a receiver, at least 0 */
    public function __construct(public readonly int $capacity = 0) {}

    /**
     * Sends a value; waits until there is room, or with capacity 0 until it is received.
     *
     * @param T $value
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return bool false: the time has passed, and the value was not sent
     * @throws ChannelClosed also when it is closed while the value waits; it was not sent then
     * @throws CancelledError
     */
    public function send(mixed $value, ?float $timeout = null): bool {}

    /**
     * Receives a value; waits until one comes.
     *
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return T
     * @throws ChannelClosed when it is closed and empty
     * @throws TimeoutException when the time has passed
     * @throws CancelledError
     */
    public function receive(?float $timeout = null): mixed {}

    /**
     * Waits until one of several channels can be used, and uses that one. If several can be used at once, the first in the
     * array's order is. Channels that are closed are passed over (as long as they are not empty, what is in them is received).
     *
     * @param array<array-key, self|array{self, mixed}> $cases a channel to receive from; or a channel and a value to send
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return ?array{array-key, mixed} the key of the case, and the value received (null after sending); null: the time has passed
     * @throws ChannelClosed when all are closed
     * @throws CancelledError
     */
    public static function select(array $cases, ?float $timeout = null): ?array {}

    /** Closes it: senders and, once it is empty, receivers get ChannelClosed. What it holds can still be received. */
    public function close(): void {}

    public function closed(): bool {}

    /** How many values it holds. */
    public function count(): int {}

    /** Receives until it is closed and empty. */
    public function getIterator(): \Iterator {}
}

/**
 * Lets one coroutine of a process through at a time, in the order in which they asked: unlock() hands the mutex over directly, so
 * that no coroutine overtakes. Only the coroutine that has locked it may unlock it.
 */
final class Mutex
{
    public function __construct() {}

    /**
     * Locks; waits until it is free.
     *
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return bool false: the time has passed
     * @throws \LogicException when the running coroutine holds it already: it would wait for itself
     * @throws CancelledError
     */
    public function lock(?float $timeout = null): bool {}

    /**
     * Gives it to the coroutine that has waited longest.
     *
     * @throws \LogicException when the running coroutine does not hold it
     */
    public function unlock(): void {}

    /**
     * Calls $work while the mutex is locked, and returns its result. It is unlocked also when $work ends by exit().
     *
     * @template T
     * @param callable(): T $work
     * @param ?float $timeout seconds to wait for the lock
     * @return T
     * @throws TimeoutException when it was not free in that time
     */
    public function synchronized(callable $work, ?float $timeout = null): mixed {}

    /** Whether a coroutine holds it. */
    public function locked(): bool {}
}

/**
 * Lets a number of coroutines of a process through at once, in the order in which they asked: a permit that is released goes
 * directly to the coroutine that has waited longest, so that none overtakes.
 */
final class Semaphore
{
    /** @param int $permits how many at once, at least 1 */
    public function __construct(public readonly int $permits) {}

    /**
     * Takes a permit; waits until there is one.
     *
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return bool false: the time has passed
     * @throws CancelledError
     */
    public function acquire(?float $timeout = null): bool {}

    /**
     * Gives a permit back. Any coroutine may.
     *
     * @throws \LogicException when none is out
     */
    public function release(): void {}

    /**
     * Calls $work with a permit, and returns its result. The permit is given back also when $work ends by exit().
     *
     * @template T
     * @param callable(): T $work
     * @param ?float $timeout seconds to wait for the permit
     * @return T
     * @throws TimeoutException when no permit came in that time
     */
    public function with(callable $work, ?float $timeout = null): mixed {}

    /** How many permits are free. */
    public function free(): int {}
}
