<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Coroutine;
use Weft\TimeoutException;

/**
 * A connection that belongs to one coroutine: its events, and the waits for them.
 *
 * Invariant: after the last event no other one is asked for.
 *
 * @internal
 */
final class Owned
{
    public const TEXT = 1;
    public const BINARY = 2;
    public const ENDED = 5;
    private const CLOSED = 3;
    private const ABNORMAL = 1006;

    /** The code of its end; null before it. */
    public ?int $closeCode = null;

    public string $closeReason = '';

    /**
     * @param string $id the connection's
     * @param object $socket what reports shall name
     */
    public function __construct(
        private readonly string $id,
        private readonly object $socket,
    ) {}

    /**
     * The next event; waits until one comes.
     *
     * @return ?array{int, string} its kind and its data; null when the connection has ended
     * @throws TimeoutException when the time has passed
     * @throws \Weft\CancelledError
     * @throws \LogicException when another coroutine waits, too
     */
    public function next(?float $timeout): ?array
    {
        $deadline = $timeout === null ? null : self::now() + $timeout;
        while ($this->closeCode === null) {
            $event = websocket_next($this->id);
            if ($event === null) {
                $this->closeCode = self::ABNORMAL;
            } elseif ($event === false) {
                if (!$this->await(false, $deadline === null ? null : $deadline - self::now())) {
                    throw new TimeoutException("No message came within $timeout seconds");
                }
            } elseif ($event[0] === self::CLOSED) {
                [, $this->closeReason, $this->closeCode] = $event;
            } else {
                return [$event[0], $event[1]];
            }
        }

        return null;
    }

    /**
     * Waits until nothing waits for the client, or the connection has ended.
     *
     * @return bool false when the time has passed
     */
    public function flush(?float $timeout): bool
    {
        return (websocket_waiting($this->id) ?? 0) === 0 || $this->await(true, $timeout);
    }

    private function await(bool $drained, ?float $timeout): bool
    {
        if ($timeout !== null && $timeout <= 0) {
            return false;
        }
        $wait = Coroutine::prepare($this->socket, external: true);
        if (!websocket_await($this->id, $wait, $drained)) {
            Coroutine::wake($wait);
            Coroutine::park($wait);
            throw new \LogicException('Another coroutine already waits for this connection: it belongs to one');
        }

        return Coroutine::park($wait, $timeout);
    }

    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }
}
