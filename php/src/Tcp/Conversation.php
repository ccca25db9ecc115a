<?php

declare(strict_types=1);

namespace Weft\Tcp;

/**
 * The application's side of TCP connections, one coroutine for each: for exchanges that are a dialogue.
 *
 * The coroutine is a task: tasks_max bounds how many there are, further connections are closed, and request_timeout_ms does not hold.
 */
abstract class Conversation extends Endpoint
{
    /** Talks with one client. When this returns, the connection is closed; what it throws is logged. */
    abstract public function converse(Socket $socket): void;
}
