<?php

declare(strict_types=1);

namespace Weft\WebSocket;

use Weft\Internal;

/**
 * A WebSocket connection by its name.
 *
 * This is a value: it may be kept, passed to other coroutines and other workers, and used when the connection has ended, which
 * every method then says. It does not keep the connection open. With a connection of another worker, each method waits for
 * that worker's answer, at most 2 s; one that does not answer is treated as if the connection had ended, with a line in the log.
 * A page of classic mode, or a task, uses it in the same way.
 */
final class Connection
{
    /** The most bytes of a close frame's reason. */
    private const REASON_BYTES_MAX = 123;

    /** @param string $id its name, never used twice */
    public function __construct(
        public readonly string $id,
    ) {}

    /**
     * Sends a message. It never waits: what the client does not take at once is kept, up to websocket_queue_bytes_max bytes, and
     * the service's overflow() says what becomes of more.
     *
     * @param string $message UTF-8, unless it is binary
     * @param string $key what the message tells the state of, of at most 255 bytes: where overflow() is Overflow::KeepNewest, it takes
     *     the place of the message with the same key that still waits; '' for none
     * @return bool false when it is lost: the connection is closed or closing, or there was no room
     * @throws \ValueError for a text that is not UTF-8, and for a key that is too long
     */
    public function send(string $message, bool $binary = false, string $key = ''): bool
    {
        return Internal\websocket_send($this->id, $message, $binary, $key);
    }

    /**
     * Closes the connection after what was sent before. The client has 5 s to answer.
     *
     * @param int $code 1000 to 1003, 1007 to 1014, or 3000 to 4999; those from 4000 on are the application's own
     * @param string $reason UTF-8, at most 123 bytes
     * @return bool false when it was closed or closing
     * @throws \ValueError for a code or a reason that must not be sent
     */
    public function close(int $code = 1000, string $reason = ''): bool
    {
        $sendable = match (true) {
            $code >= 1000 && $code <= 1003, $code >= 1007 && $code <= 1014, $code >= 3000 && $code <= 4999 => true,
            default => false,
        };
        if (!$sendable) {
            throw new \ValueError("$code is no code for a close frame: 1000 to 1003, 1007 to 1014 and 3000 to 4999 are");
        }
        if (strlen($reason) > self::REASON_BYTES_MAX || preg_match('//u', $reason) !== 1) {
            throw new \ValueError('The reason of a close frame is UTF-8 and has at most 123 bytes');
        }

        return Internal\websocket_close($this->id, $code, $reason);
    }

    /** Whether messages can be sent. */
    public function isOpen(): bool
    {
        return Internal\websocket_waiting($this->id) !== null;
    }

    /** How many bytes wait for the client: 0 when it keeps up, and when the connection is closed. */
    public function waitingBytes(): int
    {
        return Internal\websocket_waiting($this->id) ?? 0;
    }

    /**
     * Subscribes to a topic: what is published to it from now on, in any worker, is sent to the client without PHP. A
     * connection has at most 64 topics; a name has 1 to 255 bytes of UTF-8 without control characters.
     *
     * @param bool $labelled whether each message begins with a line that has its id, a space, and the topic's name; a client
     *     that has seen ids can resume()
     * @param int $recent how many of the last messages are sent first, each once, if it has not subscribed yet: as far as the
     *     history goes, and at most half of websocket_queue_bytes_max
     * @return bool false when the connection has ended, or when it has subscribed, but the history could not be read for 5 s,
     *     because a process stands still that has it locked
     * @throws \ValueError for a name that no topic can have, the 65th topic, or less than no messages
     */
    public function subscribe(string $topic, bool $labelled = false, int $recent = 0): bool
    {
        return Internal\topic_subscribe($this->id, $topic, $labelled, null, $recent) === true;
    }

    /**
     * Subscribes with labels, for a client that comes back: it is sent what followed the last message that it has seen, and
     * then what is published from now on. What the client has heard at another worker or host, and what has still to be delivered
     * here, is waited for, at most 5 s: it comes once.
     *
     * @param string $after the id of that message
     * @param int $recent how many of the last messages are sent, as subscribe() does, when it is too late
     * @return bool false when it is too late: more than topics_history_max messages have followed, or older ones than
     *     topics_history_ms, or they are not kept any more, or this host does not get what the client has heard. Nothing else of
     *     the past is sent then, and the client should begin anew. Also when the connection has ended, or is one of another
     *     worker
     * @throws \ValueError for a name that no topic can have, the 65th topic, or less than no messages
     */
    public function resume(string $topic, string $after, int $recent = 0): bool
    {
        return Internal\topic_subscribe($this->id, $topic, true, $after, $recent) === true;
    }

    /**
     * Is present at a topic to which it has subscribed, until the subscription ends: Topic::present() has it, and who has
     * subscribed to "presence:TOPIC" is told when it comes and when it has gone, however that happened.
     *
     * @param string $name under which it is there, for example the user's: 1 to 255 bytes of UTF-8 without control characters
     * @return bool false when it has not subscribed, is a connection of another worker, or workers do not keep up
     * @throws \ValueError for a name that cannot be used, and for a topic's name of more than 246 bytes
     */
    public function attend(string $topic, string $name): bool
    {
        return Internal\topic_attend($this->id, $topic, $name);
    }

    /**
     * Ends a subscription.
     *
     * @return bool whether there was one
     */
    public function unsubscribe(string $topic): bool
    {
        return Internal\topic_unsubscribe($this->id, $topic);
    }

    /**
     * The topics to which it has subscribed, in no order.
     *
     * @return list<string>
     */
    public function topics(): array
    {
        $names = explode("\n", Internal\topic_list($this->id));
        array_pop($names);

        return $names;
    }

    /** An attribute; null when there is none, or the connection has ended. */
    public function get(string $name): ?string
    {
        return Internal\websocket_attribute($this->id, $name);
    }

    /**
     * All attributes; none when the connection has ended.
     *
     * @return array<string, string>
     */
    public function attributes(): array
    {
        $rows = Internal\topic_ask(10, $this->id);
        $rows = is_array($rows) ? $rows : [];
        $attributes = [];
        for ($at = 0; $at < count($rows); $at += 2) {
            $attributes[$rows[$at]] = $rows[$at + 1];
        }

        return $attributes;
    }

    /**
     * Sets an attribute, which is kept with the connection and outside of PHP; null removes it.
     *
     * @return bool false when the connection has ended
     * @throws \ValueError when it would be more than 16 names, or 1,024 bytes of names and values together
     */
    public function set(string $name, ?string $value): bool
    {
        return Internal\websocket_remember($this->id, $name, $value);
    }
}
