<?php

declare(strict_types=1);

namespace Popup\Rules;

/**
 * Whom a configuration is for: every condition that is set must hold; none set is everybody.
 *
 * Invariant: the answer for one user and one configuration never changes by itself, on no worker and no host. Raising the
 * percentage only adds users.
 */
final class Audience
{
    /** @var array<string, int>|null users as keys, so that a list of thousands costs one look-up */
    private readonly ?array $users;

    /** @var array<string, int>|null */
    private readonly ?array $platforms;

    /**
     * @param float $percentage of all users, 0 to 100, to two decimals; by a stable hash of user and configuration
     * @param list<string> $users only these; empty: all
     * @param list<string> $platforms only these; empty: all
     * @param string|null $versionMin the lowest version that is meant, included
     * @param string|null $versionMax the highest, included: "5.2" does not include "5.2.1"
     */
    public function __construct(
        public readonly float $percentage = 100.0,
        array $users = [],
        array $platforms = [],
        public readonly ?string $versionMin = null,
        public readonly ?string $versionMax = null,
    ) {
        $this->users = $users === [] ? null : array_flip($users);
        $this->platforms = $platforms === [] ? null : array_flip($platforms);
    }

    /** @return list<string> */
    public function users(): array
    {
        // Array keys that look like numbers have become numbers.
        return array_map(strval(...), array_keys($this->users ?? []));
    }

    /** @return list<string> */
    public function platforms(): array
    {
        return array_map(strval(...), array_keys($this->platforms ?? []));
    }

    /** Whether the visitor belongs to it. What a condition asks for and the client did not say, does not hold. */
    public function includes(Visitor $visitor, int $configuration): bool
    {
        return (
            ($this->users === null || isset($this->users[$visitor->user]))
            && ($this->platforms === null || isset($this->platforms[$visitor->platform ?? '']))
            && ($this->versionMin === null && $this->versionMax === null || $this->hasVersion($visitor->version))
            && ($this->percentage >= 100.0 || self::draw($visitor->user, $configuration) < $this->percentage * 100)
        );
    }

    /** Whether anybody of this platform may belong to it. */
    public function mayInclude(string $platform): bool
    {
        return $this->platforms === null || isset($this->platforms[$platform]);
    }

    private function hasVersion(?string $version): bool
    {
        return (
            $version !== null
            && ($this->versionMin === null || version_compare($version, $this->versionMin, '>='))
            && ($this->versionMax === null || version_compare($version, $this->versionMax, '<='))
        );
    }

    /**
     * The user's lot for a configuration, 0 to 9,999.
     *
     * The configuration seeds the hash: a user among the 10 % of one is no more likely than others to be among the 10 % of the next.
     */
    private static function draw(string $user, int $configuration): int
    {
        return unpack('N', hash('xxh32', $user, true, ['seed' => $configuration]))[1] % 10_000;
    }
}
