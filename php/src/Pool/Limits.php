<?php

declare(strict_types=1);

namespace Weft\Pool;

/**
 * How large a pool may become, how long its resources live, and how long its users wait.
 *
 * @internal
 */
final class Limits
{
    public readonly int $idleNs;

    public readonly int $ageNs;

    /** For the parameters see Weft\Pool. @throws \ValueError unless 0 <= min <= max and max >= 1 */
    public function __construct(
        public readonly string $name,
        public readonly int $max,
        public readonly int $min,
        float $idleTimeout,
        float $ageMax,
        public readonly float $waitTimeout,
        public readonly int $waitersMax,
    ) {
        if ($max < 1 || $min < 0 || $min > $max) {
            throw new \ValueError("Pool $name: 0 <= min <= max and max >= 1 are needed, not min $min and max $max");
        }
        $this->idleNs = (int) ($idleTimeout * 1e9);
        $this->ageNs = (int) ($ageMax * 1e9);
    }
}
