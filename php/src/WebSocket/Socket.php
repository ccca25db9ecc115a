<?php

declare(strict_types=1);

namespace Weft\WebSocket;

use Weft\CancelledError;
use Weft\Internal\Owned;
use Weft\TimeoutException;

/**
 * A WebSocket connection in the hands of one coroutine.
 *
 *     foreach ($socket as $message) {
 *         $socket->send("You said: $message");
 *     }
 *
 * The loop ends with the connection. Its waits end like all others: by a timeout() around them, when the task is cancelled, when
 * the worker ends. No message is lost by that: the next receive() gets it.
 *
 * @implements \IteratorAggregate<int, Message>
 */
final class Socket implements \IteratorAggregate
{
    private readonly Owned $owned;

    /** @internal the server makes it */
    public function __construct(
        public readonly Connection $connection,
    ) {
        $this->owned = new Owned($connection->id, $connection);
    }

    /**
     * The next message; waits until one comes.
     *
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return ?Message null when the connection has ended
     * @throws TimeoutException when the time has passed
     * @throws CancelledError
     * @throws \LogicException when another coroutine receives, too
     */
    public function receive(?float $timeout = null): ?Message
    {
        $event = $this->owned->next($timeout);

        return $event === null ? null : new Message($event[1], $event[0] === Owned::BINARY);
    }

    /** @return \Generator<int, Message> the messages until the end of the connection */
    public function getIterator(): \Generator
    {
        while (($message = $this->receive()) !== null) {
            yield $message;
        }
    }

    /**
     * Sends a message, as Connection::send() does: it never waits.
     *
     * @param string $message UTF-8, unless it is binary
     * @return bool false when it is lost: the connection is closed or closing, or there was no room
     * @throws \ValueError for a text that is not UTF-8, and for a key that is too long
     */
    public function send(string $message, bool $binary = false, string $key = ''): bool
    {
        return $this->connection->send($message, $binary, $key);
    }

    /**
     * Waits until the client has taken what was sent, as far as the kernel can tell, or the connection has ended.
     *
     * @param ?float $timeout seconds; null waits for ever, which the server bounds by write_timeout_ms
     * @return bool false when the time has passed
     * @throws CancelledError
     * @throws \LogicException when another coroutine flushes, too
     */
    public function flush(?float $timeout = null): bool
    {
        return $this->owned->flush($timeout);
    }

    /**
     * Closes the connection, as Connection::close() does. What the client has sent before can still be received.
     *
     * @return bool false when it was closed or closing
     * @throws \ValueError for a code or a reason that must not be sent
     */
    public function close(int $code = 1000, string $reason = ''): bool
    {
        return $this->connection->close($code, $reason);
    }

    /** The code of the close frame that came first; 1006 when there was none; null until receive() has returned null. */
    public function closeCode(): ?int
    {
        return $this->owned->closeCode;
    }

    /** The reason in that frame. */
    public function closeReason(): string
    {
        return $this->owned->closeReason;
    }
}
