<?php

declare(strict_types=1);

namespace Popup\Rules;

/** What there is for a user now: a configuration, or none and when to ask again. */
final class Choice
{
    private function __construct(
        /** To be shown now. */
        public readonly ?Configuration $configuration,
        /** When it was shown last; null if it never was. */
        public readonly ?int $shown,
        /** Without one: when the one that the user has seen comes back; null when nothing waits. */
        public readonly ?int $askAgainAt,
    ) {}

    public static function show(Configuration $configuration, ?int $shown): self
    {
        return new self($configuration, $shown, null);
    }

    public static function wait(int $until): self
    {
        return new self(null, null, $until);
    }

    public static function nothing(): self
    {
        return new self(null, null, null);
    }
}
