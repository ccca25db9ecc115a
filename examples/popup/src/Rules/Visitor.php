<?php

declare(strict_types=1);

namespace Popup\Rules;

/** The user who asks, with all that an audience can distinguish. The values are valid already: see Popup\Web\Input. */
final class Visitor
{
    /**
     * @param string $user 1 to 64 of A-Z a-z 0-9 . _ : @ -
     * @param string|null $platform lower-case letters and digits, at most 16; null if the client did not say
     * @param string|null $version one to four numbers with dots; null if the client did not say
     */
    public function __construct(
        public readonly string $user,
        public readonly ?string $platform = null,
        public readonly ?string $version = null,
    ) {}
}
