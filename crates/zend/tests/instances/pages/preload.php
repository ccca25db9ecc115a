<?php

// Run once, before any request.
class Preloaded
{
    public const NAME = 'preloaded';
    public static array $seen = [];

    public static function note(int $number): string
    {
        static $calls = 0;
        self::$seen[] = $number;
        return self::NAME . ' ' . implode(',', array_unique(self::$seen)) . (++$calls === count(self::$seen) ? '' : ' static');
    }
}

function preloaded_function(): int
{
    static $calls = 0;
    return ++$calls;
}
