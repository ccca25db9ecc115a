<?php

declare(strict_types=1);

namespace Push;

use Weft\Http\Request;
use Weft\Topic;
use Weft\WebSocket\Accept;
use Weft\WebSocket\Connection;
use Weft\WebSocket\Service;

/**
 * One person's connection. It says {"enter": ROOM, "after": ID or null} and {"say": TEXT, "key": KEY}.
 *
 * What is said goes to the room's topic, and from there to everybody without this code. Invariant: nothing of a connection is kept
 * here; its name and its room are its attributes, so it does not matter which worker it meets.
 */
final class Chat extends Service
{
    private const NAME_MAX = 40;
    private const TEXT_MAX = 2000;

    public function authorise(Request $request): Accept|bool
    {
        // An application with users would ask the session here: $request->cookie(…).
        $name = self::line($request->query('name'), self::NAME_MAX);

        return $name !== null ? new Accept(attributes: ['name' => $name]) : false;
    }

    public function message(Connection $connection, string $message, bool $binary): void
    {
        $said = json_decode($message, true, 4);
        $room = is_array($said) ? Room::tryFrom(is_string($said['enter'] ?? null) ? $said['enter'] : '') : null;
        if ($room !== null) {
            $this->enter($connection, $room, is_string($said['after'] ?? null) ? $said['after'] : null);
            return;
        }
        $room = Room::tryFrom($connection->get('room') ?? '');
        $text = is_array($said) ? self::line($said['say'] ?? null, self::TEXT_MAX) : null;
        if ($room === null || $text === null) {
            $connection->close(1008, 'enter a room, then say something');
            return;
        }
        Topic::publish($room->topic(), self::json([
            'from' => $connection->get('name'),
            'text' => $text,
            'at' => time(),
            'key' => self::line($said['key'] ?? null, self::NAME_MAX),
        ]));
    }

    /** @param ?string $after the last message that the client has seen in this room; it is sent what followed */
    private function enter(Connection $connection, Room $room, ?string $after): void
    {
        $left = Room::tryFrom($connection->get('room') ?? '');
        if ($left !== null) {
            $connection->unsubscribe($left->topic());
            $connection->unsubscribe($left->presence());
        }
        $connection->set('room', $room->value);
        $complete = $after === null || $connection->resume($room->topic(), $after);
        $connection->subscribe($room->topic(), labelled: true);
        $connection->subscribe($room->presence(), labelled: true);
        $connection->attend($room->topic(), $connection->get('name') ?? '');
        $connection->send(self::json(['room' => $room, 'present' => $room->present(), 'complete' => $complete]));
    }

    /** A text of 1 to so many characters, without spaces around it; or null. */
    private static function line(mixed $text, int $max): ?string
    {
        return is_string($text) && preg_match('/^\s*+(\S(?:.{0,' . ($max - 2) . '}\S)?)\s*$/su', $text, $found) ? $found[1] : null;
    }

    /** @param array<string, mixed> $data */
    private static function json(array $data): string
    {
        return json_encode($data, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
    }
}
