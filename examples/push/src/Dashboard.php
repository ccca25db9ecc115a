<?php

declare(strict_types=1);

namespace Push;

use Weft\WebSocket\Connection;
use Weft\WebSocket\Overflow;
use Weft\WebSocket\Service;

/** The live dashboard: it listens to all rooms. After the first message, nothing that it shows comes from PHP. */
final class Dashboard extends Service
{
    public function opened(Connection $connection): void
    {
        $present = [];
        foreach (Room::cases() as $room) {
            $connection->subscribe($room->topic(), labelled: true);
            $connection->subscribe($room->presence(), labelled: true);
            $present[$room->value] = $room->present();
        }
        $connection->send(json_encode(['rooms' => $present], JSON_THROW_ON_ERROR));
    }

    public function message(Connection $connection, string $message, bool $binary): void
    {
        $connection->close(1008, 'the dashboard only listens');
    }

    /** Who watches over a slow line sees the newest. */
    public function overflow(): Overflow
    {
        return Overflow::DropOldest;
    }
}
