<?php

declare(strict_types=1);

namespace Weft\Pool;

use Weft\Coroutine;
use Weft\Internal\Coroutines;

use function Weft\defer;

/**
 * Which coroutine holds which resource that Pool::acquire() has handed out.
 *
 * Invariant: what a coroutine still holds when it ends is discarded.
 *
 * @internal
 * @template R of object
 */
final class Holders
{
    /** @var array<int, Slot<R>> by the resource's object id */
    private array $slots = [];

    /** @var array<int, true> coroutines that have acquired something, until they end */
    private array $coroutines = [];

    private readonly bool $inCoroutines;

    private readonly \Closure $ends;

    /** @param Places<R> $places */
    public function __construct(private readonly Places $places, private readonly string $pool)
    {
        $this->inCoroutines = Coroutines::exist();
        $this->ends = $this->ends(...);
    }

    /** @param Slot<R> $slot */
    public function add(Slot $slot): void
    {
        $this->slots[\spl_object_id($slot->resource)] = $slot;
        $slot->holder = $coroutine = $this->inCoroutines ? Coroutine::id() : 0;
        if ($coroutine !== 0 && !isset($this->coroutines[$coroutine])) {
            $this->coroutines[$coroutine] = true;
            defer($this->ends);
        }
    }

    /**
     * The slot of a resource, which is no longer held.
     *
     * @param R $resource
     * @return Slot<R>
     * @throws PoolException when it was not held
     */
    public function remove(object $resource): Slot
    {
        $id = \spl_object_id($resource);
        $slot = $this->slots[$id] ?? null;
        if ($slot === null || $slot->resource !== $resource) {
            throw new PoolException("Pool $this->pool: this is not in use, so it cannot be returned (returned twice?)");
        }
        unset($this->slots[$id]);

        return $slot;
    }

    /** Runs at the end of a coroutine that has acquired something. */
    private function ends(): void
    {
        $coroutine = Coroutine::id();
        unset($this->coroutines[$coroutine]);
        foreach ($this->slots as $id => $slot) {
            if ($slot->holder === $coroutine) {
                unset($this->slots[$id]);
                $this->places->discard($slot);
            }
        }
    }
}
