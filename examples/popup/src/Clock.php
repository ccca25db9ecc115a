<?php

declare(strict_types=1);

namespace Popup;

/**
 * The time, in whole seconds since 1970.
 *
 * Nothing else in Popup\ asks the system for the time of day: a test sets the clock, and 24 hours pass.
 */
final class Clock
{
    private ?int $set = null;

    /** @param string|null $file a file whose number of seconds is added to the system's time, read each time: for tests */
    public function __construct(private readonly ?string $file = null) {}

    /** A clock that stands still until it is set. */
    public static function at(int $seconds): self
    {
        $clock = new self();
        $clock->set = $seconds;

        return $clock;
    }

    public function now(): int
    {
        if ($this->file !== null) {
            return time() + (int) @file_get_contents($this->file);
        }

        return $this->set ?? time();
    }

    /** Lets time pass. Only a clock that was made by at() can. */
    public function pass(int $seconds): void
    {
        $this->set ??= throw new \LogicException('The system\'s clock cannot be set: make one with Clock::at()');
        $this->set += $seconds;
    }
}
