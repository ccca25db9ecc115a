<?php

/** C functions that recurse once per level of nested data, each to a depth that `php` survives with its stack of 8 MiB. */

namespace Deep;

final class Link
{
    public ?Link $next = null;
}

function chain(int $length): ?Link
{
    $chain = null;
    for ($i = 0; $i < $length; $i++) {
        $link = new Link();
        $link->next = $chain;
        $chain = $link;
    }

    return $chain;
}

function nested(int $depth): array
{
    $nested = [];
    for ($i = 0; $i < $depth; $i++) {
        $nested = [$nested];
    }

    return $nested;
}

function everything(): array
{
    $text = str_repeat('a:1:{i:0;', 5000) . 'a:0:{}' . str_repeat('}', 5000);
    $freed = chain(50_000) !== null;

    return [
        'serialize' => strlen(serialize(nested(5000))),
        'unserialize' => count(unserialize($text, ['max_depth' => 0])),
        'compare' => nested(30_000) == nested(30_000),
        'free' => $freed,
        'json_encode' => strlen(json_encode(nested(20_000), 0, 1 << 30)),
        'var_export' => strlen(var_export(nested(5000), true)),
    ];
}
