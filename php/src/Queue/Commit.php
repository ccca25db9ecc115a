<?php

declare(strict_types=1);

namespace Weft\Queue;

/** @internal One item of a GroupCommit and the coroutine that waits for it. */
final class Commit
{
    public bool $ended = false;

    public mixed $result = null;

    public ?\Throwable $error = null;

    /** The wait's number; 0 before it is opened. */
    public int $wait = 0;

    public function __construct(public readonly mixed $item) {}
}
