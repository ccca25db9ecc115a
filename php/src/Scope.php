<?php

declare(strict_types=1);

namespace Weft;

use Weft\Internal\Report;
use Weft\Internal\Seat;

/**
 * Structured concurrency: tasks that end before the call that started them returns.
 *
 * run() calls its body here, on the running coroutine. The tasks that the body starts by go() are the scope's. The first one
 * to fail cancels the others and interrupts the body; when all have ended, run() throws what it threw. When the body throws,
 * or is interrupted itself (its task was cancelled, a timeout has passed), the tasks are cancelled, and awaited, too. What
 * fails after that goes to the log.
 */
final class Scope
{
    /** How often run() goes on waiting for its tasks although each wait is cut short, as in a request past request_timeout_ms. */
    private const INTERRUPTIONS_MAX = 100;

    /** @var array<int, Task> the tasks that have not ended, by number */
    private array $tasks = [];

    private int $started = 0;

    /** The coroutine of the body. */
    private readonly int $parent;

    private readonly ?Semaphore $slots;

    /** Why no task can be started any more; null: they can. */
    private ?string $over = null;

    private ?\Throwable $failure = null;

    /** The task whose failure it is. */
    private ?Task $failed = null;

    /** What ended the body from outside; it comes before a failure. */
    private ?\Throwable $interruption = null;

    /** The body was interrupted by this scope, and no wait has thrown for it yet. */
    private bool $interrupting = false;

    private bool $inBody = true;

    /** run()'s wait for the last task; 0: it does not wait. */
    private int $joining = 0;

    private function __construct(?int $concurrency)
    {
        $this->parent = Coroutine::id();
        $this->slots = $concurrency === null ? null : new Semaphore($concurrency);
    }

    /**
     * Calls $body, waits for all tasks of the scope, and returns what $body returned.
     *
     * @template T
     * @param callable(self): T $body
     * @param ?int $concurrency how many tasks run at the same time, at least 1; null for any number
     * @param ?float $timeout seconds for the body and all tasks, more than 0
     * @return T
     * @throws TimeoutException when they have passed; all tasks have ended then
     * @throws CancelledError
     */
    public static function run(callable $body, ?int $concurrency = null, ?float $timeout = null): mixed
    {
        $scope = new self($concurrency);
        // If exit() ends the body, nothing is left to wait for the tasks.
        $guard = new Seat(static fn () => $scope->end('its scope was left by exit()'));
        $result = $timeout === null ? $scope->enter($body) : timeout($timeout, static fn () => $scope->enter($body));
        $guard->giveUp();

        return $result;
    }

    /**
     * Starts a task of this scope. While as many run as the limit allows, it waits; so a task of the scope that starts others
     * may have to wait for itself.
     *
     * @throws CancelledError when a task has failed, or the scope was cancelled
     * @throws \LogicException when run() has returned
     */
    public function go(callable $work, mixed ...$arguments): Task
    {
        $this->mustBeOpen();
        $this->slots?->acquire();
        $number = ++$this->started;
        $seat = new Seat(function () use ($number): void {
            unset($this->tasks[$number]);
            $this->slots?->release();
            if ($this->tasks === [] && $this->joining !== 0) {
                Coroutine::wake($this->joining);
            }
        });
        $this->mustBeOpen();
        $task = go(fn () => $this->work($number, $seat, $work, $arguments));
        $this->tasks[$number] = $task;

        return $task;
    }

    /** Cancels all tasks that run; no more can be started. The body goes on. */
    public function cancel(string $reason = ''): void
    {
        $this->end($reason === '' ? 'its scope was cancelled' : $reason);
    }

    /**
     * Runs all at once and returns the results by key, in the order of $works. The first failure cancels the others and is thrown.
     *
     * @template K of array-key
     * @template T
     * @param iterable<K, callable(): T> $works asked for the next one when there is room for it
     * @param ?int $concurrency how many run at the same time; null for all
     * @return array<K, T>
     * @throws TimeoutException
     */
    public static function parallel(iterable $works, ?int $concurrency = null, ?float $timeout = null): array
    {
        $results = [];
        self::run(
            static function (self $scope) use ($works, &$results): void {
                foreach ($works as $key => $work) {
                    $results[$key] = null;
                    $scope->go(static function () use ($key, $work, &$results): void {
                        $results[$key] = $work();
                    });
                }
            },
            $concurrency,
            $timeout,
        );

        return $results;
    }

    /**
     * Runs all at once; returns or throws what the first to end returned or threw. The others are cancelled, and have ended by then.
     *
     * @template T
     * @param iterable<array-key, callable(): T> $works at least one
     * @return T
     * @throws TimeoutException
     */
    public static function race(iterable $works, ?float $timeout = null): mixed
    {
        /** @var ?array{bool, mixed} $won whether it returned; what it returned or threw */
        $won = null;
        self::run(
            static function (self $scope) use ($works, &$won): void {
                $finish = new WaitGroup(1);
                foreach ($works as $work) {
                    $scope->go(static function () use ($work, $finish, &$won): void {
                        $outcome = [true, null]; // if it ends by exit()
                        $end = new Seat(static function () use (&$outcome, $finish, &$won): void {
                            if ($won === null) {
                                $won = $outcome;
                                $finish->done();
                            }
                        });
                        try {
                            $outcome = [true, $work()];
                        } catch (\Throwable $failure) {
                            $outcome = [false, $failure];
                        }
                        $end->giveUp();
                    });
                }
                if (!isset($work)) {
                    throw new \ValueError('There must be at least one to race');
                }
                $finish->wait();
                $scope->cancel('another has won the race');
            },
            null,
            $timeout,
        );
        [$returned, $what] = $won ?? [true, null];

        return $returned || !$what instanceof \Throwable ? $what : throw $what;
    }

    private function enter(callable $body): mixed
    {
        $result = null;
        try {
            $result = $body($this);
        } catch (\Throwable $thrown) {
            $this->bodyFailed($thrown);
        }
        $this->inBody = false;
        $this->join();
        $this->over = 'its run() has returned';
        if ($this->interruption !== null) {
            if ($this->failure !== null && $this->failed === null) {
                Report::failure('the body of Scope::run()', $this->failure); // a task's is logged with the task
            }
            throw $this->interruption;
        }
        $failure = $this->failure;
        if ($failure !== null) {
            $this->acknowledge();
            throw $failure;
        }

        return $result;
    }

    private function bodyFailed(\Throwable $thrown): void
    {
        if ($thrown instanceof CancelledError && $this->interrupting) {
            $this->interrupting = false;

            return;
        }
        if ($thrown instanceof CancelledError) {
            $this->interruption = $thrown;
        } elseif ($this->failure === null) {
            $this->failure = $thrown;
        } elseif ($thrown !== $this->failure) {
            Report::failure('after one of its tasks the body of Scope::run()', $thrown);
        }
        $this->end('its scope has failed');
    }

    /** Waits until all tasks have ended, whatever interrupts it. */
    private function join(): void
    {
        for ($interruptions = 0; $this->tasks !== [] && $interruptions < self::INTERRUPTIONS_MAX;) {
            try {
                $this->joining = Coroutine::prepare($this);
                Coroutine::park($this->joining);
            } catch (\Throwable $interruption) {
                $interruptions++;
                $this->joinInterrupted($interruption);
            } finally {
                $this->joining = 0;
            }
        }
        if ($this->interrupting) {
            // No wait has met this scope's own interruption yet: this one does.
            try {
                Coroutine::yield();
            } catch (CancelledError) {
                $this->interrupting = false;
            }
        }
    }

    private function joinInterrupted(\Throwable $interruption): void
    {
        if ($this->interrupting && $interruption instanceof CancelledError) {
            $this->interrupting = false;

            return;
        }
        $this->interruption ??= $interruption;
        $this->end('its scope was cancelled');
    }

    /** @param array<array-key, mixed> $arguments */
    private function work(int $number, Seat $seat, callable $work, array $arguments): mixed
    {
        $left = true;
        // This runs after everything that the work defers itself, also when it ends by exit() or a fatal error.
        defer(function () use ($number, $seat, &$left): void {
            if ($left && ($failure = self::fatalError()) !== null) {
                $this->taskFailed($number, $failure);
            }
            $seat->giveUp();
        });
        try {
            return $work(...$arguments);
        } catch (CancelledError $cancelled) {
            throw $cancelled;
        } catch (\Throwable $failure) {
            $this->taskFailed($number, $failure);
            throw $failure;
        } finally {
            $left = false;
        }
    }

    /** What ended the running task without an exception; null: nothing did, it has called exit(). */
    private static function fatalError(): ?\Error
    {
        $error = error_get_last();
        if ($error === null || ($error['type'] & (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_PARSE)) === 0) {
            return null;
        }

        return new \Error("A fatal error ended a task of the scope: {$error['message']} in {$error['file']}:{$error['line']}");
    }

    private function taskFailed(int $number, \Throwable $failure): void
    {
        if ($this->failure !== null || $this->interruption !== null) {
            return; // no coroutine awaits it, so the log has it
        }
        $this->failure = $failure;
        $this->failed = $this->tasks[$number];
        $this->end('another task of its scope has failed', $number);
        if ($this->inBody) {
            $this->interrupting = Coroutine::interrupt($this->parent, 'a task of its scope has failed');
        }
    }

    /** Cancels all tasks but one, once: what they do to clean up may wait. */
    private function end(string $reason, int $except = 0): void
    {
        if ($this->over !== null) {
            return;
        }
        $this->over = $reason;
        foreach ($this->tasks as $number => $task) {
            if ($number !== $except) {
                $task->cancel($reason);
            }
        }
    }

    /** run() throws what the task threw: so the task need not be logged as an unnoticed failure. */
    private function acknowledge(): void
    {
        try {
            $this->failed?->await();
        } catch (\Throwable) {
            // It is $this->failure.
        }
    }

    private function mustBeOpen(): void
    {
        if ($this->over === null) {
            return;
        }
        if ($this->interrupting && Coroutine::id() === $this->parent) {
            Coroutine::yield(); // throws what is due
        }
        if ($this->inBody || $this->tasks !== []) {
            throw new CancelledError("No task can be started any more: {$this->over}");
        }
        throw new \LogicException('No task can be started any more: the scope has ended with its run()');
    }
}
