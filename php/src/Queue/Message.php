<?php

declare(strict_types=1);

namespace Weft\Queue;

/** A record on its way out of a queue. */
final class Message
{
    /**
     * @param string $record as it was appended
     * @param float $at when it was appended, in seconds since 1970
     * @param mixed $origin the backend's: where it lies
     */
    public function __construct(
        public readonly string $record,
        public readonly float $at,
        public readonly mixed $origin,
    ) {}
}
