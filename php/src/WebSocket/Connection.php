<?php

declare(strict_types=1);

namespace Weft\WebSocket;

use Weft\Internal;

/**
 * A WebSocket connection by its name.
 *
 * This is a value: it may be kept, passed to other coroutines of the worker and used when the connection has ended, which every
 * method then says. It does not keep the connection open.
 */
final class Connection
{
    /** The most bytes of a close frame's reason. */
    private const REASON_BYTES_MAX = 123;

    /** @param string $id its name, never used twice */
    public function __construct(
        public readonly string $id,
    ) {}

    /**
     * Sends a message. It never waits: what the client does not take at once is kept, up to websocket_queue_bytes_max bytes, and
     * the service's overflow() says what becomes of more.
     *
     * @param string $message UTF-8, unless it is binary
     * @return bool false when it is lost: the connection is closed or closing, or there was no room
     * @throws \ValueError for a text that is not UTF-8
     */
    public function send(string $message, bool $binary = false): bool
    {
        return Internal\websocket_send($this->id, $message, $binary);
    }

    /**
     * Closes the connection after what was sent before. The client has 5 s to answer.
     *
     * @param int $code 1000 to 1003, 1007 to 1014, or 3000 to 4999; those from 4000 on are the application's own
     * @param string $reason UTF-8, at most 123 bytes
     * @return bool false when it was closed or closing
     * @throws \ValueError for a code or a reason that must not be sent
     */
    public function close(int $code = 1000, string $reason = ''): bool
    {
        $sendable = match (true) {
            $code >= 1000 && $code <= 1003, $code >= 1007 && $code <= 1014, $code >= 3000 && $code <= 4999 => true,
            default => false,
        };
        if (!$sendable) {
            throw new \ValueError("$code is no code for a close frame: 1000 to 1003, 1007 to 1014 and 3000 to 4999 are");
        }
        if (strlen($reason) > self::REASON_BYTES_MAX || preg_match('//u', $reason) !== 1) {
            throw new \ValueError('The reason of a close frame is UTF-8 and has at most 123 bytes');
        }

        return Internal\websocket_close($this->id, $code, $reason);
    }

    /** Whether messages can be sent. */
    public function isOpen(): bool
    {
        return Internal\websocket_waiting($this->id) !== null;
    }

    /** How many bytes wait for the client: 0 when it keeps up, and when the connection is closed. */
    public function waitingBytes(): int
    {
        return Internal\websocket_waiting($this->id) ?? 0;
    }

    /** An attribute; null when there is none, or the connection has ended. */
    public function get(string $name): ?string
    {
        return Internal\websocket_attribute($this->id, $name);
    }

    /**
     * Sets an attribute, which is kept with the connection and outside of PHP; null removes it.
     *
     * @return bool false when the connection has ended
     * @throws \ValueError when it would be more than 16 names, or 1,024 bytes of names and values together
     */
    public function set(string $name, ?string $value): bool
    {
        return Internal\websocket_remember($this->id, $name, $value);
    }
}
