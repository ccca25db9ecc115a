<?php

declare(strict_types=1);

namespace Popup;

use Weft\CancelledError;
use Weft\Task;

/**
 * Coroutines that work beside the requests for as long as the worker lives.
 *
 * Invariant: what fails in one of them is logged and tried again; it ends only with the worker.
 */
final class Background
{
    /**
     * Does it now, and again so long after each end.
     *
     * @param string $name what is said to have failed
     */
    public static function every(float $seconds, string $name, \Closure $work): Task
    {
        return \Weft\go(static function () use ($seconds, $name, $work): void {
            for (;; usleep(max(0, (int) ($seconds * 1e6)))) {
                self::attempt($name, $work);
            }
        });
    }

    /** Does it once, and again every half a second until nothing fails. */
    public static function untilItWorks(string $name, \Closure $work): void
    {
        while (!self::attempt($name, $work)) {
            usleep(500_000);
        }
    }

    private static function attempt(string $name, \Closure $work): bool
    {
        try {
            $work();

            return true;
        } catch (CancelledError $ending) {
            throw $ending;
        } catch (\Throwable $error) {
            Log::seldom("$name failed and will be tried again", $error->getMessage());

            return false;
        }
    }
}
