<?php

declare(strict_types=1);

namespace Popup;

/** Lines for the error log that a failing part would otherwise write for each request: one a second of each kind. */
final class Log
{
    /** @var array<string, array{second: int, left_out: int}> by kind; kinds are written in the code, so there are few */
    private static array $kinds = [];

    public static function seldom(string $kind, string $message): void
    {
        $now = time();
        $last = self::$kinds[$kind] ?? ['second' => 0, 'left_out' => 0];
        if ($last['second'] === $now) {
            self::$kinds[$kind]['left_out']++;

            return;
        }
        $more = $last['left_out'] === 0 ? '' : " ({$last['left_out']} more like this since the last line)";
        self::$kinds[$kind] = ['second' => $now, 'left_out' => 0];
        error_log("popup: $kind: $message$more");
    }
}
