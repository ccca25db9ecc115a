<?php

declare(strict_types=1);

namespace Weft\Tcp;

use Weft\WebSocket\Overflow;

/**
 * How messages are framed, and what becomes of clients that do not keep up: what a Service and a Conversation have in common.
 *
 * Extend one of these two.
 */
abstract class Endpoint
{
    /** How messages are told apart. Asked once, at the boot. */
    abstract public function framing(): Framing;

    /** What becomes of messages for a client that does not keep up. Asked once, at the boot. */
    public function overflow(): Overflow
    {
        return Overflow::Close;
    }
}
