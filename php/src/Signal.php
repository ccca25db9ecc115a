<?php

declare(strict_types=1);

namespace Weft;

use Weft\Internal\Deadline;

/** Waits for signals, in scripts. In a server signals are weft's own: they mean reload, drain and stop. */
final class Signal
{
    private function __construct() {}

    /**
     * Waits for one of these signals, and returns the one that came.
     *
     * From the first call on they are kept for await(): one that comes while no coroutine waits is not lost, and does not have
     * its usual effect. A signal that comes several times before it is awaited counts once.
     *
     * @param int|non-empty-list<int> $signals SIGTERM, for example
     * @param ?float $timeout seconds; 0 does not wait; null waits for ever
     * @throws TimeoutException when none has come in that time
     * @throws CancelledError
     */
    public static function await(int|array $signals, ?float $timeout = null): int
    {
        if (PHP_SAPI !== 'cli') {
            throw new \LogicException('Signal::await() is for scripts: in a server, signals are weft\'s own');
        }
        if (!function_exists('pcntl_sigtimedwait')) {
            throw new \LogicException('Signal::await() needs the extension pcntl');
        }
        $info = [];
        $signals = (array) $signals;
        if ($signals === [] || !@pcntl_sigprocmask(SIG_BLOCK, $signals, $before)) {
            throw new \ValueError('Signal::await(): not a list of signals: ' . (string) json_encode($signals));
        }
        $deadline = new Deadline($timeout);
        while (true) {
            // The handler of another signal may end the wait early, with a warning: then it goes on.
            $left = $deadline->left();
            $signal = $left === null
                ? @pcntl_sigwaitinfo($signals)
                : @pcntl_sigtimedwait($signals, $info, (int) $left, max(1, (int) (fmod($left, 1.0) * 1e9)));
            if (is_int($signal) && $signal > 0) {
                return $signal;
            }
            if ($left !== null && $left <= 0) {
                throw new TimeoutException("No signal came within $timeout seconds");
            }
        }
    }
}
