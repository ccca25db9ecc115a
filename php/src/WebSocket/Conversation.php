<?php

declare(strict_types=1);

namespace Weft\WebSocket;

/**
 * The application's side of WebSocket connections, one coroutine for each: for exchanges that are a dialogue.
 *
 * A connection costs the memory of a coroutine as long as it is open, where a Service costs none. The coroutine is a task: tasks_max
 * bounds how many there are, further connections are closed with 1013, and request_timeout_ms does not hold.
 */
abstract class Conversation extends Endpoint
{
    /**
     * Talks with one client. When this returns, the connection is closed with 1000; when it throws, that is logged, and the
     * connection closed with 1011.
     */
    abstract public function converse(Socket $socket): void;
}
