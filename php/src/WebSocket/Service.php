<?php

declare(strict_types=1);

namespace Weft\WebSocket;

/**
 * The application's side of WebSocket connections, event by event.
 *
 * One object serves all connections of a worker. Each call runs on a coroutine of its own, so it may wait: other connections go on
 * meanwhile. The calls for one connection come one at a time and in order. Between two calls a connection costs no PHP memory;
 * what it should remember is kept by Connection::set().
 *
 * What a method throws is logged, and closes its connection with 1011. A call that runs longer than request_timeout_ms is cancelled
 * in the same way.
 */
abstract class Service extends Endpoint
{
    /** The connection is open: the first call for it. */
    public function opened(Connection $connection): void {}

    /**
     * A message has arrived, of at most websocket_message_bytes_max.
     *
     * @param string $message UTF-8, unless it is binary
     */
    abstract public function message(Connection $connection, string $message, bool $binary): void;

    /**
     * Nothing waits for the client any more, after it had not kept up, or waitingBytes() has said that something waits: what was held
     * back can be sent.
     */
    public function drained(Connection $connection): void {}

    /**
     * The connection has ended: the last call for it. Its attributes can still be read.
     *
     * @param int $code of the close frame that came first, from either side: 1000 and 1001 are usual; 1005 for a frame without a
     *     code; 1006 when there was none, because the client has gone or was silent
     */
    public function closed(Connection $connection, int $code, string $reason): void {}
}
