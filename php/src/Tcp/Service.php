<?php

declare(strict_types=1);

namespace Weft\Tcp;

/**
 * The application's side of TCP connections, event by event, as of those of a WebSocket\Service: each call on a coroutine of its own,
 * the calls for one connection one at a time and in order, and no PHP memory between two of them.
 *
 * What a method throws is logged, and closes its connection. A call that runs longer than request_timeout_ms is cancelled in the
 * same way.
 */
abstract class Service extends Endpoint
{
    /** A client has connected: the first call for its connection. */
    public function opened(Connection $connection): void {}

    /** A message has arrived, of at most tcp_message_bytes_max. */
    abstract public function message(Connection $connection, string $message): void;

    /**
     * Nothing waits for the client any more, after it had not kept up, or waitingBytes() has said that something waits: what was held
     * back can be sent.
     */
    public function drained(Connection $connection): void {}

    /**
     * The connection has ended: the last call for it. Its attributes can still be read.
     *
     * @param string $reason '' when the client or the service has ended it; otherwise what was wrong
     */
    public function closed(Connection $connection, string $reason): void {}
}
