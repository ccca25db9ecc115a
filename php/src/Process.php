<?php

declare(strict_types=1);

namespace Weft;

use Weft\Internal\Deadline;
use Weft\Internal\Helper;

/**
 * Runs a computation in a process of its own, so that it does not hold up the other coroutines of this one.
 *
 * The helper is a copy of this process (fork): the closure sees everything as it was, and changes nothing here. The result
 * or the exception comes back as a copy (serialize). The helper has no coroutines: waiting blocks, go() is refused. It MUST NOT
 * use connections that were open before: they belong to this process. It ends without destructors and shutdown functions.
 */
final class Process
{
    private static ?Semaphore $slots = null;

    private function __construct() {}

    /**
     * How many helpers run at once in this process; the others wait for one to end. The default is the number of cores that
     * this process may use. It can be changed until the first helper runs.
     */
    public static function limit(int $helpers): void
    {
        if (self::$slots !== null) {
            throw new \LogicException('Process::limit() must be called before the first Process::run()');
        }
        self::$slots = new Semaphore($helpers);
    }

    /**
     * Calls $work in a helper process and waits for it. Returns what $work returned, throws what it threw.
     *
     * @template T
     * @param \Closure(): T $work
     * @param ?float $timeout seconds, with the wait for other helpers to end; then the helper is killed
     * @return T
     * @throws TimeoutException when they have passed
     * @throws ProcessFailed when the helper ended without a result
     * @throws CancelledError when interrupted; the helper is killed
     */
    public static function run(\Closure $work, ?float $timeout = null): mixed
    {
        $deadline = new Deadline($timeout);
        $slots = self::$slots ??= new Semaphore(Helper::cores());
        if (!$slots->acquire($timeout)) {
            throw new TimeoutException("All {$slots->permits} helper processes are busy; none became free within $timeout seconds");
        }
        // On a coroutine of its own: nothing of the caller's stack, output or shutdown functions is in the helper, and
        // the helper is killed and awaited even if the caller is interrupted.
        $task = go(static function () use ($work, $slots): mixed {
            try {
                return Helper::run($work);
            } finally {
                $slots->release();
            }
        });
        try {
            return $task->await($deadline->left());
        } catch (TimeoutException $late) {
            // What $work itself threw has come back with the end of the task.
            throw $task->ended() ? $late : new TimeoutException("The helper process was not done within $timeout seconds, and is killed");
        } finally {
            $task->cancel('nobody waits for the helper process any more');
        }
    }
}
