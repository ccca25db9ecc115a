<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Http\Event;
use Weft\Http\Writer;
use Weft\WebSocket\Overflow;

/**
 * The body of a Response::events() that is bound to topics: from its last event on it is the server's, and no PHP is held.
 *
 * @internal
 */
final class TopicStream
{
    private const TOPICS_MAX = 64;
    private const MS_MAX = 86_400_000;
    private const LABELLED = 4;

    /** @var list<string> */
    private readonly array $topics;

    private readonly int $heartbeatMs;

    /**
     * @param list<string> $topics
     * @param array<array-key, string> $attend
     * @throws \ValueError
     */
    public function __construct(
        array $topics,
        private readonly bool $labelled,
        private readonly Overflow $overflow,
        float $heartbeat,
        private readonly int $retryMs,
        private readonly int $recent,
        private readonly array $attend,
    ) {
        $this->topics = array_values(array_unique($topics));
        $this->heartbeatMs = (int) ceil($heartbeat * 1000);
        if (count($this->topics) > self::TOPICS_MAX) {
            throw new \ValueError('A connection has at most 64 topics');
        }
        foreach ($this->topics as $topic) {
            if (strlen($topic) > 255 || preg_match('/^[^\p{Cc}]+$/Du', $topic) !== 1) {
                throw new \ValueError('A topic\'s name is UTF-8, has 1 to 255 bytes, and no control characters');
            }
        }
        if ($heartbeat < 0.0 || $this->heartbeatMs > self::MS_MAX || $retryMs < 0 || $retryMs > self::MS_MAX) {
            throw new \ValueError('The heartbeat and retryMs of a stream of events are from 0 to 86,400 s');
        }
        foreach ($attend as $topic => $name) {
            if (!in_array((string) $topic, $this->topics, true)) {
                throw new \ValueError("A client attends topics of its stream; \"$topic\" is none of them");
            }
            if (strlen((string) $topic) > 246 || strlen($name) > 255 || preg_match('/^[^\p{Cc}]+$/Du', $name) !== 1) {
                throw new \ValueError('The name of a topic with presence has at most 246 bytes, and that of who is there 255, of UTF-8 without control characters');
            }
        }
        if ($recent < 0) {
            throw new \ValueError('The number of recent messages is 0 or more');
        }
    }

    /** @param iterable<Event|string> $events what comes before that */
    public function write(Writer $writer, iterable $events): void
    {
        $after = null;
        if ($events !== []) {
            // What is published while they are made follows them; or is among the recent ones.
            $after = $this->recent > 0 ? null : topic_position();
            foreach ($events as $event) {
                if (!$writer->write((string) ($event instanceof Event ? $event : new Event($event)))) {
                    return;
                }
            }
        }
        $manner = $this->overflow->value | ($this->labelled ? self::LABELLED : 0);
        topic_stream($this->topics, $this->attend, $after, $this->recent, $manner, $this->heartbeatMs, $this->retryMs);
    }
}
