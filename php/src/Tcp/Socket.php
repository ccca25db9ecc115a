<?php

declare(strict_types=1);

namespace Weft\Tcp;

use Weft\CancelledError;
use Weft\Internal\Owned;
use Weft\Internal\Protocol;
use Weft\TimeoutException;

/**
 * A TCP connection in the hands of one coroutine.
 *
 *     foreach ($socket as $message) {
 *         $socket->send("You said: $message");
 *     }
 *
 * The loop ends when the client has ended its side: what is sent after that still reaches a client that only listens. Its waits end
 * like all others: by a timeout() around them, when the task is cancelled, when the worker ends. No message is lost by that: the
 * next receive() gets it.
 *
 * @implements \IteratorAggregate<int, string>
 */
final class Socket implements \IteratorAggregate
{
    private readonly Owned $owned;

    /** What has arrived of a message, where a PHP class tells messages apart. */
    private string $buffer = '';

    private bool $ended = false;

    /** @internal the server makes it */
    public function __construct(
        public readonly Connection $connection,
        private readonly ?Protocol $protocol,
    ) {
        $this->owned = new Owned($connection->id, $connection);
    }

    /**
     * The next message; waits until one comes.
     *
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @return ?string null when the client has ended its side, or the connection has ended
     * @throws TimeoutException when the time has passed
     * @throws CancelledError
     * @throws \LogicException when another coroutine receives, too
     */
    public function receive(?float $timeout = null): ?string
    {
        while (true) {
            $message = $this->protocol?->take($this->buffer, $this->connection);
            if ($message !== null) {
                return $message;
            }
            $event = $this->ended ? null : $this->owned->next($timeout);
            if ($event === null || $event[0] === Owned::ENDED) {
                $this->ended = true;

                return null;
            }
            if ($this->protocol === null) {
                return $event[1];
            }
            $this->buffer .= $event[1];
        }
    }

    /** @return \Generator<int, string> the messages until the client has ended its side */
    public function getIterator(): \Generator
    {
        while (($message = $this->receive()) !== null) {
            yield $message;
        }
    }

    /**
     * Sends a message, as Connection::send() does: it never waits.
     *
     * @return bool false when it is lost: the connection is closed or closing, or there was no room
     * @throws \ValueError when it cannot be framed; for a key that is too long
     */
    public function send(string $message, string $key = ''): bool
    {
        return $this->connection->send($message, $key);
    }

    /**
     * Sends a file, or a part of it, as Connection::sendFile() does.
     *
     * @param ?int $length bytes from the offset on; null for the rest
     * @return bool false when it is lost: the connection is closed or closing, or 16 files wait for the client
     * @throws \ValueError for what cannot be sent
     */
    public function sendFile(string $path, int $offset = 0, ?int $length = null): bool
    {
        return $this->connection->sendFile($path, $offset, $length);
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
     * Closes the connection after what was sent before.
     *
     * @return bool false when it was closed or closing
     */
    public function close(): bool
    {
        return $this->connection->close();
    }
}
