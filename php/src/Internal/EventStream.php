<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Channel;
use Weft\ChannelClosed;
use Weft\Coroutine;
use Weft\Http\Event;
use Weft\Http\Writer;
use Weft\TimeoutException;

use function Weft\go;

/**
 * The body of a Response::events(): events as they come, and comments while none comes.
 *
 * The events are made by a task, so that the client is heard of meanwhile. Invariant: the task ends with the response.
 *
 * @internal
 */
final class EventStream
{
    /** A comment, which clients ignore; it shows that both ends are alive. */
    private const HEARTBEAT = ":\n\n";

    /** @param iterable<Event|string> $events */
    public function __construct(
        private readonly iterable $events,
        private readonly float $heartbeat,
    ) {}

    public function write(Writer $writer): void
    {
        // The client learns at once that it is connected.
        if (!$writer->write(self::HEARTBEAT)) {
            return;
        }
        if (Coroutine::id() === 0 || $this->heartbeat <= 0.0) {
            $this->writeAlone($writer);

            return;
        }
        $channel = new Channel();
        $task = go(fn () => $this->produce($channel));
        try {
            while (($text = $this->next($channel)) !== null) {
                if (!$writer->write($text)) {
                    return;
                }
            }
            $task->await(); // throws what the events threw
        } finally {
            $task->cancel('the client has gone, or the response has ended');
        }
    }

    /** Where there are no tasks: the client is only heard of by the next event. */
    private function writeAlone(Writer $writer): void
    {
        foreach ($this->events as $event) {
            if (!$writer->write(self::encode($event))) {
                return;
            }
        }
    }

    private function produce(Channel $channel): void
    {
        try {
            foreach ($this->events as $event) {
                $channel->send(self::encode($event));
            }
        } finally {
            $channel->close();
        }
    }

    private function next(Channel $channel): ?string
    {
        try {
            return $channel->receive($this->heartbeat);
        } catch (TimeoutException) {
            return self::HEARTBEAT;
        } catch (ChannelClosed) {
            return null;
        }
    }

    private static function encode(Event|string $event): string
    {
        return (string) ($event instanceof Event ? $event : new Event($event));
    }
}
