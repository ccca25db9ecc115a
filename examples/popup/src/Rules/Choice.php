<?php

declare(strict_types=1);

namespace Popup\Rules;

/** What there is for a user now: a configuration, or none and when to ask again. */
final class Choice
{
    private function __construct(
        /** To be shown now. */
        public readonly ?Configuration $configuration,
        /** Without one: when the one that the user has seen comes back; null when nothing waits. */
        public readonly ?int $askAgainAt,
    ) {
    }

    public static function show(Configuration $configuration): self
    {
        return new self($configuration, null);
    }

    public static function wait(int $until): self
    {
        return new self(null, $until);
    }

    public static function nothing(): self
    {
        return new self(null, null);
    }
}
