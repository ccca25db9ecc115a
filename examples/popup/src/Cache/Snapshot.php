<?php

declare(strict_types=1);

namespace Popup\Cache;

use Popup\Rules\Configuration;
use Popup\Rules\Rules;
use Popup\Storage\Configurations;

/**
 * The configurations as they were at one moment, ready for use.
 *
 * They are sorted by platform: most users get the answer "nothing" without a look at what is for other platforms.
 */
final class Snapshot
{
    /** For platforms that no configuration names. */
    private const OTHER = '';

    /** @var array<string, list<Configuration>> platform to configurations that may be for it, in the order in which they are offered */
    private array $candidates = [];

    /**
     * @param int $version of the table; higher is newer
     * @param float $loaded_at when the database gave it, in seconds since 1970
     * @param list<Configuration> $configurations
     */
    private function __construct(public readonly int $version, public readonly float $loaded_at, array $configurations)
    {
        $platforms = [self::OTHER];
        foreach ($configurations as $configuration) {
            array_push($platforms, ...$configuration->audience->platforms());
        }
        foreach (array_unique($platforms) as $platform) {
            $this->candidates[$platform] = array_values(array_filter(
                $configurations,
                static fn (Configuration $c): bool => !$c->paused && $c->audience->mayInclude($platform),
            ));
        }
    }

    /** @param array{version: int, rows: list<array<string, mixed>>, ...} $live as Storage\Configurations::live() has it */
    public static function of(array $live, float $loaded_at): self
    {
        return new self($live['version'], $loaded_at, Rules::ordered(array_map(Configurations::fromRow(...), $live['rows'])));
    }

    /**
     * Those that may be for a platform, in the order in which they are offered.
     *
     * @return list<Configuration>
     */
    public function candidates(?string $platform): array
    {
        return $this->candidates[$platform ?? self::OTHER] ?? $this->candidates[self::OTHER];
    }
}
