<?php

declare(strict_types=1);

namespace Popup\Cache;

use Popup\Rules\Configuration;
use Popup\Rules\Rules;
use Popup\Storage\Configurations;

/** The configurations as they were at one moment, ready for use. */
final class Snapshot
{
    /**
     * @param int $version of the table; higher is newer
     * @param float $loaded_at when the database gave it, in seconds since 1970
     * @param list<Configuration> $configurations in the order in which they are offered
     */
    private function __construct(
        public readonly int $version,
        public readonly float $loaded_at,
        public readonly array $configurations,
    ) {
    }

    /** @param array{version: int, rows: list<array<string, mixed>>} $live as Storage\Configurations::live() has it */
    public static function of(array $live, float $loaded_at): self
    {
        return new self($live['version'], $loaded_at, Rules::ordered(array_map(Configurations::fromRow(...), $live['rows'])));
    }
}
