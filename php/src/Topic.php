<?php

declare(strict_types=1);

namespace Weft;

use Weft\Internal\Publisher;
use Weft\WebSocket\Connection;

/** Topics: what is published to one goes to all that have subscribed to it, in every worker of the server. */
final class Topic
{
    private function __construct() {}

    /**
     * Publishes a message. Any code may: a page, a handler, a service, a task; a script that `weft php` runs publishes to the
     * server that WEFT_TOPICS_PUBLISH_TO names, and so does a server with the setting topics.publish_to.
     *
     * It does not wait for subscribers, and that there are none is no error. When workers have not read what was published
     * before, and the memory for it is full, it waits for them, at most a second.
     *
     * @param string $message UTF-8, unless it is binary; at most an eighth of topics_bytes
     * @param Connection|list<Connection>|null $except who does not get it, 500 connections at most: the one from which it came, say
     * @param string $key what the message tells the state of, of at most 255 bytes: for a service whose overflow() is
     *     Overflow::KeepNewest it takes the place of this topic's message with the same key that still waits; '' for none
     * @return string the message's id
     * @throws \ValueError for a topic, a message or a key that cannot be published
     * @throws PublishException when workers do not keep up, and when no server is found or it refuses
     */
    public static function publish(
        string $topic,
        string $message,
        bool $binary = false,
        Connection|array|null $except = null,
        string $key = '',
    ): string {
        $names = self::names($except instanceof Connection ? [$except] : $except ?? []);
        $elsewhere = getenv('WEFT_TOPICS_PUBLISH_TO');
        if (is_string($elsewhere) && $elsewhere !== '') {
            return Publisher::publish($elsewhere, $topic, $message, $binary, $names, $key);
        }
        $id = Internal\topic_publish($topic, $message, $binary, $names, $key);

        return match (true) {
            is_string($id) => $id,
            $id === null
                => throw new PublishException('Nothing to publish to: this process belongs to no server, and WEFT_TOPICS_PUBLISH_TO does not name one'),
            default => throw new PublishException("Workers do not keep up with what is published; \"$topic\" is not"),
        };
    }

    /** @param list<Connection> $connections */
    private static function names(array $connections): string
    {
        return implode(' ', array_map(static fn (Connection $one): string => $one->id, $connections));
    }

    // The questions: crates/weft/src/bus/questions.rs.
    private const COUNT = 0;
    private const CONNECTIONS = 1;
    private const ATTRIBUTES = 2;
    private const TOPICS = 3;
    private const DISSOLVE = 4;
    private const PRESENT = 17;
    private const RECENT = 20;

    /**
     * How many connections have subscribed, in all workers of this process's server.
     *
     * @throws TimeoutException when a worker does not answer within 2 s
     */
    public static function count(string $topic): int
    {
        return self::sum(self::ask(self::COUNT, $topic));
    }

    /**
     * The connections that have subscribed, in all workers, in no order.
     *
     * @return list<Connection>
     * @throws TimeoutException when a worker does not answer within 2 s
     */
    public static function connections(string $topic): array
    {
        return array_map(static fn (string $id): Connection => new Connection($id), self::ask(self::CONNECTIONS, $topic));
    }

    /**
     * The attributes of the connections that have subscribed, by the connections' ids.
     *
     * @return array<string, array<string, string>>
     * @throws TimeoutException when a worker does not answer within 2 s
     */
    public static function attributes(string $topic): array
    {
        $rows = self::ask(self::ATTRIBUTES, $topic);
        $all = [];
        for ($at = 0; $at < count($rows);) {
            $id = $rows[$at++];
            $all[$id] = [];
            for ($left = (int) $rows[$at++]; $left > 0; $left--) {
                $name = $rows[$at++];
                $all[$id][$name] = $rows[$at++];
            }
        }

        return $all;
    }

    /**
     * The topics that have subscribers, and how many each has.
     *
     * @param string $prefix only those whose names begin so
     * @return array<array-key, int> by name; PHP makes a name of digits an int
     * @throws TimeoutException when a worker does not answer within 2 s
     */
    public static function list(string $prefix = ''): array
    {
        $topics = [];
        foreach (array_chunk(self::ask(self::TOPICS, $prefix), 2) as [$topic, $count]) {
            $topics[$topic] = ($topics[$topic] ?? 0) + (int) $count;
        }

        return $topics;
    }

    /**
     * Who is present: Connection::attend(). This worker knows it, and asks nobody; one that has just started may take a
     * second to learn it.
     *
     * @return array<string, string> names by the connections' ids
     */
    public static function present(string $topic): array
    {
        $present = [];
        foreach (array_chunk(self::ask(self::PRESENT, $topic), 2) as [$id, $name]) {
            $present[$id] = $name;
        }

        return $present;
    }

    /**
     * The last messages of a topic, oldest first, as far as its history goes: topics_history_max messages, topics_history_ms,
     * topics_bytes. What every worker of the server has published is there at once, and nobody is asked.
     *
     * A client that was given them goes on behind the last one: Connection::resume() with its id.
     *
     * @param int $count how many at most
     * @return list<TopicMessage>
     * @throws \ValueError for less than no messages
     * @throws TimeoutException when the history could not be read for 5 s, because a process stands still that has it locked
     * @throws PublishException when this process belongs to no server
     */
    public static function recent(string $topic, int $count = 100): array
    {
        if ($count < 0) {
            throw new \ValueError('The number of recent messages is 0 or more');
        }
        $rows = Internal\topic_ask(self::RECENT, "$count $topic");
        if (!is_array($rows)) {
            throw $rows === null
                ? new TimeoutException('The history of topics cannot be read: a process has it locked, and does not go on')
                : new PublishException('No history to read: this process belongs to no server');
        }
        $recent = [];
        foreach (array_chunk($rows, 4) as [$id, $kind, $milliseconds, $data]) {
            $recent[] = new TopicMessage($id, $data, $kind === 'binary', (int) $milliseconds / 1000);
        }

        return $recent;
    }

    /**
     * Ends all subscriptions to a topic; the connections stay open.
     *
     * @return int how many there were
     * @throws TimeoutException when a worker does not answer within 2 s; others may have ended theirs
     */
    public static function dissolve(string $topic): int
    {
        return self::sum(self::ask(self::DISSOLVE, $topic));
    }

    /** @param list<string> $numbers */
    private static function sum(array $numbers): int
    {
        return array_sum(array_map(intval(...), $numbers));
    }

    /** @return list<string> */
    private static function ask(int $what, string $topic): array
    {
        $rows = Internal\topic_ask($what, $topic);

        return match (true) {
            is_array($rows) => $rows,
            $rows === null => throw new TimeoutException('Not all workers have answered within 2 s; the log says which'),
            default => throw new PublishException('Nobody to ask: this process belongs to no server'),
        };
    }
}
