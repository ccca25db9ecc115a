<?php

declare(strict_types=1);

namespace Weft;

/** A message of a topic's history: Topic::recent(). */
final class TopicMessage implements \Stringable
{
    /**
     * @param string $id as publish() has returned it, and as clients show it when they come back
     * @param string $data UTF-8, unless it is binary
     * @param float $time when it was published, in seconds since 1970
     */
    public function __construct(
        public readonly string $id,
        public readonly string $data,
        public readonly bool $binary,
        public readonly float $time,
    ) {}

    public function __toString(): string
    {
        return $this->data;
    }
}
