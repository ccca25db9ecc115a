<?php

declare(strict_types=1);

namespace Weft\WebSocket;

/** What a client has sent. */
final class Message implements \Stringable
{
    /** @param string $data UTF-8, unless it is binary */
    public function __construct(
        public readonly string $data,
        public readonly bool $binary = false,
    ) {}

    public function __toString(): string
    {
        return $this->data;
    }
}
