<?php

declare(strict_types=1);

namespace Weft\Tcp;

use Weft\Internal;
use Weft\Internal\Streams;

/**
 * A TCP connection by its name.
 *
 * This is a value: it may be kept, passed to other coroutines of the worker and used when the connection has ended, which every
 * method then says. It does not keep the connection open.
 */
final class Connection
{
    private const NORMAL = 1000;

    /** @param string $id its name, never used twice */
    public function __construct(
        public readonly string $id,
    ) {}

    /**
     * Sends a message in its frame. It never waits: what the client does not take at once is kept, up to tcp_queue_bytes_max bytes,
     * and the service's overflow() says what becomes of more.
     *
     * @param string $key what the message tells the state of, of at most 255 bytes: where overflow() is Overflow::KeepNewest, it takes
     *     the place of the message with the same key that still waits; '' for none
     * @return bool false when it is lost: the connection is closed or closing, or there was no room
     * @throws \ValueError when it cannot be framed: it contains the delimiter, or is too long for its length's bytes; for a key that is
     *     too long
     */
    public function send(string $message, string $key = ''): bool
    {
        $bytes = Streams::$encodes ? Streams::encode($this, $message) : $message;

        return Internal\websocket_send($this->id, $bytes, true, $key);
    }

    /**
     * Sends a file, or a part of it, behind what was sent before; the kernel reads it (sendfile(2)), and no byte of it waits in
     * memory. With Framing::length() it is a message, with its length before it; otherwise its bytes are sent as they are, and no
     * delimiter after them. It never waits.
     *
     * @param ?int $length bytes from the offset on; null for the rest
     * @return bool false when it is lost: the connection is closed or closing, or 16 files wait for the client
     * @throws \ValueError when there is no regular file that may be read, when it has fewer bytes, and when its length does not fit
     *     the bytes of its prefix
     */
    public function sendFile(string $path, int $offset = 0, ?int $length = null): bool
    {
        return Internal\stream_send_file($this->id, $path, $offset, $length);
    }

    /**
     * Closes the connection after what was sent before.
     *
     * @return bool false when it was closed or closing
     */
    public function close(): bool
    {
        return Internal\websocket_close($this->id, self::NORMAL, '');
    }

    /** Whether messages can be sent. A client that has ended its own side still receives. */
    public function isOpen(): bool
    {
        return Internal\websocket_waiting($this->id) !== null;
    }

    /** How many bytes wait for the client, those of files included: 0 when it keeps up, and when the connection is closed. */
    public function waitingBytes(): int
    {
        return Internal\websocket_waiting($this->id) ?? 0;
    }

    /** The address of the client, with its port: "192.0.2.7:50123"; null when the connection has ended. */
    public function client(): ?string
    {
        return Internal\connection_client($this->id);
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
