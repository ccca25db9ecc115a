<?php

declare(strict_types=1);

namespace Weft;

use Weft\Internal\Deadline;
use Weft\Internal\Place;
use Weft\Internal\Waiter;
use Weft\Internal\WaitQueue;

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
    /** @var \SplQueue<T> one more than the capacity only while a value is given back */
    private \SplQueue $values;

    private WaitQueue $senders;

    private WaitQueue $receivers;

    /** How many values it holds: those of $values. */
    private int $held = 0;

    private bool $closed = false;

    /** @param int $capacity how many values wait here for a receiver, at least 0 */
    public function __construct(public readonly int $capacity = 0)
    {
        if ($capacity < 0) {
            throw new \ValueError("Weft\\Channel: the capacity must be at least 0, not $capacity");
        }
        $this->values = new \SplQueue();
        $this->senders = new WaitQueue();
        $this->receivers = new WaitQueue();
    }

    /**
     * Sends a value; waits until there is room, or with capacity 0 until it is received.
     *
     * @param T $value
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return bool false: the time has passed, and the value was not sent
     * @throws ChannelClosed also when it is closed while the value waits; it was not sent then
     * @throws CancelledError
     */
    public function send(mixed $value, ?float $timeout = null): bool
    {
        if ($this->closed) {
            throw new ChannelClosed('Nothing can be sent: the channel is closed');
        }
        if ($this->held < $this->capacity && $this->receivers->count === 0) { // offer(), without its calls
            ++$this->held;
            $this->values->enqueue($value);

            return true;
        }
        if ($this->offer($value)) {
            return true;
        }
        if ($timeout !== null && $timeout <= 0) {
            return false;
        }
        $waiter = new Waiter($this);
        $place = $this->senders->add($waiter, $value);
        try {
            if (!$waiter->park($timeout) && $waiter->dismissed) {
                throw new ChannelClosed('The value was not sent: the channel was closed while it waited');
            }
        } finally {
            $this->senders->remove($place);
        }

        return $waiter->served !== null;
    }

    /**
     * Receives a value; waits until one comes.
     *
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return T
     * @throws ChannelClosed when it is closed and empty
     * @throws TimeoutException when the time has passed
     * @throws CancelledError
     */
    public function receive(?float $timeout = null): mixed
    {
        if ($this->held > 0 && $this->senders->count === 0) { // take(), without its calls
            --$this->held;

            return $this->values->dequeue();
        }
        $value = null;
        if ($this->take($value)) {
            return $value;
        }
        if (!$this->closed && ($timeout === null || $timeout > 0)) {
            $waiter = new Waiter($this);
            $place = $this->receivers->add($waiter);
            try {
                if ($waiter->park($timeout)) {
                    return $waiter->value;
                }
            } catch (\Throwable $interruption) {
                if ($waiter->served !== null) {
                    $this->giveBack($waiter->value);
                }
                throw $interruption;
            } finally {
                $this->receivers->remove($place);
            }
        }
        if ($this->closed) {
            throw new ChannelClosed('Nothing will come: the channel is closed and empty');
        }
        throw new TimeoutException("Nothing was received within $timeout seconds");
    }

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
    public static function select(array $cases, ?float $timeout = null): ?array
    {
        $deadline = new Deadline($timeout);
        while (true) {
            $open = [];
            foreach ($cases as $key => $case) {
                [$channel, $sends, $value] = self::caseOf($key, $case);
                if ($sends ? !$channel->closed && $channel->offer($value) : $channel->take($value)) {
                    return [$key, $sends ? null : $value];
                }
                if (!$channel->closed) {
                    $open[$key] = [$sends ? $channel->senders : $channel->receivers, $value];
                }
            }
            if ($open === []) {
                throw new ChannelClosed('Nothing will come: all channels of Channel::select() are closed');
            }
            $left = $deadline->left();
            if ($left !== null && $left <= 0) {
                return null;
            }
            [$key, $value] = self::waitFor($cases, $open, $left);
            if ($key !== null) {
                return [$key, $value];
            }
        }
    }

    /** Closes it: senders and, once it is empty, receivers get ChannelClosed. What it holds can still be received. */
    public function close(): void
    {
        $this->closed = true;
        $this->senders->dismiss();
        $this->receivers->dismiss();
    }

    public function closed(): bool
    {
        return $this->closed;
    }

    /** How many values it holds. */
    public function count(): int
    {
        return $this->held;
    }

    /** Receives until it is closed and empty. */
    public function getIterator(): \Generator
    {
        while (true) {
            try {
                $value = $this->receive();
            } catch (ChannelClosed) {
                return;
            }
            yield $value;
        }
    }

    /** Gives a value to a waiting receiver, or keeps it if there is room. */
    private function offer(mixed $value): bool
    {
        if ($this->receivers->serve($value) !== null) {
            return true;
        }
        if ($this->held >= $this->capacity) {
            return false;
        }
        ++$this->held;
        $this->values->enqueue($value);

        return true;
    }

    /** Takes what is here without waiting; a sender that waits moves up. */
    private function take(mixed &$value): bool
    {
        if ($this->held === 0) {
            $sender = $this->senders->serve();
            $value = $sender?->value;

            return $sender !== null;
        }
        --$this->held;
        $value = $this->values->dequeue();
        if ($this->held < $this->capacity && ($sender = $this->senders->serve()) !== null) {
            ++$this->held;
            $this->values->enqueue($sender->value);
        }

        return true;
    }

    /** A receiver was interrupted after a value had been given to it: the next one gets it. */
    private function giveBack(mixed $value): void
    {
        if ($this->receivers->serve($value) === null) {
            ++$this->held;
            $this->values->unshift($value);
        }
    }

    /** @return array{self, bool, mixed} the channel, whether to send, the value to send */
    private static function caseOf(int|string $key, mixed $case): array
    {
        if ($case instanceof self) {
            return [$case, false, null];
        }
        if (is_array($case) && array_keys($case) === [0, 1] && $case[0] instanceof self) {
            return [$case[0], true, $case[1]];
        }
        throw new \TypeError("Channel::select(): case \"$key\" must be a Channel to receive from, or [Channel, value to send]");
    }

    /**
     * @param array<array-key, self|array{self, mixed}> $cases
     * @param non-empty-array<array-key, array{WaitQueue, mixed}> $open where to wait, with what to send
     * @return array{int|string|null, mixed} the key of the case that was served, null for none; and the value received
     */
    private static function waitFor(array $cases, array $open, ?float $left): array
    {
        $waiter = new Waiter('Channel::select()');
        $places = [];
        foreach ($open as $each => [$queue, $value]) {
            $places[$each] = $queue->add($waiter, $value);
        }
        try {
            $waiter->park($left);
        } catch (\Throwable $interruption) {
            $key = self::served($waiter, $places);
            $case = $key === null ? null : $cases[$key];
            if ($case instanceof self) {
                $case->giveBack($waiter->value);
            }
            throw $interruption;
        } finally {
            foreach ($open as $each => [$queue]) {
                $queue->remove($places[$each]);
            }
        }

        return [self::served($waiter, $places), $waiter->value];
    }

    /** @param array<array-key, Place> $places */
    private static function served(Waiter $waiter, array $places): int|string|null
    {
        $key = $waiter->served === null ? false : array_search($waiter->served, $places, true);

        return $key === false ? null : $key;
    }
}
