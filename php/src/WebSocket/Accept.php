<?php

declare(strict_types=1);

namespace Weft\WebSocket;

/** A connection is accepted, and this is said and remembered of it. */
final class Accept
{
    /**
     * @param ?string $protocol the subprotocol, one of those that the client offers in Sec-WebSocket-Protocol
     * @param array<string, string> $attributes what Connection::get() returns: at most 16 names, and 1,024 bytes together
     * @param array<string, string> $headers further headers of the answer, at most 64, for example Set-Cookie
     */
    public function __construct(
        public readonly ?string $protocol = null,
        public readonly array $attributes = [],
        public readonly array $headers = [],
    ) {}
}
