<?php

declare(strict_types=1);

namespace Popup;

/** What happened to a pop-up: it was given to a client, and what the client reports of it. */
enum Operation: int
{
    case Returned = 1;
    case Shown = 2;
    case Clicked = 3;
    case Closed = 4;

    /** What a client may report, by name. */
    public static function reported(string $name): ?self
    {
        return match ($name) {
            'shown' => self::Shown,
            'clicked' => self::Clicked,
            'closed' => self::Closed,
            default => null,
        };
    }

    /** The record that is written behind. The display names the occasion, so a repeated report is the same operation. */
    public function record(string $display, string $user, int $configuration, int $now): string
    {
        return "$display-{$this->value}\t{$this->value}\t$user\t$configuration\t$now";
    }
}
