<?php

declare(strict_types=1);

/** The work of a handler: a hash of 16 KiB that begin with something of the request. */
function page(string $seed): string
{
    static $template = null;
    $template ??= str_repeat("a page, which is long.\n\n\n", 655);

    return hash('fnv1a32', $seed . $template);
}
