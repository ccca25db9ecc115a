<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\CancelledError;
use Weft\Coroutine;
use Weft\TimeoutException;

/**
 * What classes that also run without weft ask about coroutines.
 *
 * @internal
 */
final class Coroutines
{
    private static ?bool $exist = null;

    /** The running coroutine; 0 outside coroutines and without weft. */
    public static function current(): int
    {
        return self::exist() ? Coroutine::id() : 0;
    }

    /** Whether PHP runs under weft, so that Weft\Coroutine is there. */
    public static function exist(): bool
    {
        return self::$exist ??= \class_exists(Coroutine::class, false);
    }

    /** Whether a failure means that work was stopped at a point it did not choose. */
    public static function interrupted(?\Throwable $failure): bool
    {
        while ($failure !== null) {
            if ($failure instanceof CancelledError || $failure instanceof TimeoutException) {
                return true;
            }
            $failure = $failure->getPrevious();
        }

        return false;
    }
}
