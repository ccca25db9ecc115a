<?php

declare(strict_types=1);

namespace Weft\Internal;

/**
 * A task's place in its scope. It is given up once: by the task when it ends, or when the work is thrown away because the
 * task was cancelled before it began.
 *
 * @internal
 */
final class Seat
{
    /** @param ?\Closure(): void $giveUp MUST NOT wait: a destructor may call it */
    public function __construct(private ?\Closure $giveUp) {}

    public function giveUp(): void
    {
        $giveUp = $this->giveUp;
        $this->giveUp = null;
        if ($giveUp !== null) {
            $giveUp();
        }
    }

    public function __destruct()
    {
        $this->giveUp();
    }
}
