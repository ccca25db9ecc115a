<?php

declare(strict_types=1);

namespace Weft\Udp;

/**
 * The application's side of UDP: one call for each datagram that arrives, on a coroutine of its own, many at once and in no order.
 *
 * What a call throws is logged, and nothing else follows. A call that runs longer than request_timeout_ms is cancelled.
 */
abstract class Service
{
    /** A datagram has arrived, of 0 to 65,507 bytes. */
    abstract public function message(Peer $peer, string $message): void;
}
