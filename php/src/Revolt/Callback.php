<?php

declare(strict_types=1);

namespace Weft\Revolt;

use Revolt\EventLoop\CallbackType;

/**
 * One registered callback and where it stands.
 *
 * @internal
 */
final class Callback
{
    public bool $enabled = true;

    public bool $referenced = true;

    /** It may be called: it was enabled before this tick. */
    public bool $invokable = false;

    /** When it is due, in seconds of Watches::now(); for delays and repeats. */
    public float $due = 0.0;

    /** Which of its entries in the heap of timers counts; 0 for none. */
    public int $armed = 0;

    /**
     * @param float $interval seconds, of a delay or repeat
     * @param mixed $on the stream or signal
     */
    public function __construct(
        public readonly string $id,
        public readonly CallbackType $type,
        public readonly \Closure $closure,
        public readonly float $interval = 0.0,
        public readonly mixed $on = null,
    ) {}

    public function isTimer(): bool
    {
        return $this->type === CallbackType::Delay || $this->type === CallbackType::Repeat;
    }

    public function call(): mixed
    {
        return $this->on === null ? ($this->closure)($this->id) : ($this->closure)($this->id, $this->on);
    }
}
