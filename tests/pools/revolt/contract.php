<?php

/*
 * The part of the package revolt/event-loop that Weft\Revolt\Driver needs: its public interfaces and exceptions,
 * reduced to a minimum, and a facade that keeps the driver. Applications install the package; these tests must not
 * depend on a registry.
 */

declare(strict_types=1);

namespace Revolt\EventLoop {

    enum CallbackType
    {
        case Defer;
        case Delay;
        case Repeat;
        case Readable;
        case Writable;
        case Signal;
    }

    /** @template T */
    interface Suspension
    {
        /** @param T $value */
        public function resume(mixed $value = null): void;

        /** @return T */
        public function suspend(): mixed;

        public function throw(\Throwable $throwable): void;
    }

    interface Driver
    {
        public function run(): void;

        public function stop(): void;

        public function getSuspension(): Suspension;

        public function isRunning(): bool;

        public function queue(\Closure $closure, mixed ...$args): void;

        public function defer(\Closure $closure): string;

        public function delay(float $delay, \Closure $closure): string;

        public function repeat(float $interval, \Closure $closure): string;

        public function onReadable(mixed $stream, \Closure $closure): string;

        public function onWritable(mixed $stream, \Closure $closure): string;

        public function onSignal(int $signal, \Closure $closure): string;

        public function enable(string $callbackId): string;

        public function cancel(string $callbackId): void;

        public function disable(string $callbackId): string;

        public function reference(string $callbackId): string;

        public function unreference(string $callbackId): string;

        public function setErrorHandler(?\Closure $errorHandler): void;

        public function getErrorHandler(): ?\Closure;

        public function getHandle(): mixed;

        public function getIdentifiers(): array;

        public function getType(string $callbackId): CallbackType;

        public function isEnabled(string $callbackId): bool;

        public function isReferenced(string $callbackId): bool;

        public function __debugInfo(): array;
    }

    final class InvalidCallbackError extends \Error
    {
        public static function nonNullReturn(string $id, \Closure $closure): self
        {
            return new self("callback $id returned something");
        }

        public static function invalidIdentifier(string $id): self
        {
            return new self("no callback $id");
        }
    }

    final class UnsupportedFeatureException extends \Exception
    {
    }

    final class UncaughtThrowable extends \Error
    {
        public static function throwingCallback(\Closure $closure, \Throwable $previous): self
        {
            return new self('a callback threw: ' . $previous->getMessage(), 0, $previous);
        }

        public static function throwingErrorHandler(\Closure $closure, \Throwable $previous): self
        {
            return new self('the error handler threw: ' . $previous->getMessage(), 0, $previous);
        }
    }

    final class FiberLocal
    {
        public static int $cleared = 0;

        public static function clear(): void
        {
            ++self::$cleared;
        }
    }
}

namespace {

    use Weft\Revolt\Driver;

    /** The loop of this process. */
    function loop(): Driver
    {
        static $driver = null;

        return $driver ??= new Driver();
    }

    /** Waits for this many seconds, like AMPHP's delay(). */
    function pause(float $seconds, mixed $value = null): mixed
    {
        $suspension = loop()->getSuspension();
        loop()->delay($seconds, static fn () => $suspension->resume($value));

        return $suspension->suspend();
    }

    /** A future of a callback that runs on the loop, like AMPHP's async(). */
    final class Promise
    {
        private bool $done = false;

        private mixed $value = null;

        private ?Throwable $failure = null;

        /** @var list<Revolt\EventLoop\Suspension> */
        private array $waiting = [];

        public function __construct(Closure $work)
        {
            loop()->queue(function () use ($work): void {
                try {
                    $this->value = $work();
                } catch (Throwable $failure) {
                    $this->failure = $failure;
                }
                $this->done = true;
                foreach ($this->waiting as $suspension) {
                    $suspension->resume();
                }
            });
        }

        public function await(): mixed
        {
            if (!$this->done) {
                $this->waiting[] = $suspension = loop()->getSuspension();
                $suspension->suspend();
            }

            return $this->failure === null ? $this->value : throw $this->failure;
        }
    }
}
