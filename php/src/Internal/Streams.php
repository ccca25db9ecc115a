<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Tcp\Connection;
use Weft\Tcp\Conversation;
use Weft\Tcp\Endpoint;
use Weft\Tcp\Service;

/**
 * The TCP services of an application: what the server is told of them, and which method an event calls.
 *
 * @internal called by the server, and by Tcp\Connection
 */
final class Streams
{
    private const OPENED = 0;
    private const CLOSED = 3;
    private const DRAINED = 4;
    private const ABNORMAL = 1006;

    /** @var array<int, Protocol> by the number of the service, where a PHP class tells messages apart */
    private static array $protocols = [];

    /** Whether there are some: otherwise what is sent is what it was given. */
    public static bool $encodes = false;

    public static function declare(string $path, int $number, Endpoint $service): void
    {
        $framing = $service->framing();
        if ($framing->protocol !== null) {
            self::$protocols[$number] = new Protocol($framing->protocol);
            self::$encodes = true;
        } elseif ($service instanceof Service) {
            service_receives($number, $service, Connection::class, false);
        }
        stream_declare(
            $path,
            $number,
            Services::manner($service),
            $framing->delimiter,
            $framing->prefixBytes,
            $framing->littleEndian,
            $framing->inclusive,
        );
    }

    public static function event(int $number, Endpoint $service, int $kind, string $id, string $data, int $code): void
    {
        $connection = new Connection($id);
        $protocol = self::$protocols[$number] ?? null;
        if ($service instanceof Conversation) {
            Conversing::begin($service, $connection, $protocol);

            return;
        }
        \assert($service instanceof Service);
        match ($kind) {
            self::OPENED => $service->opened($connection),
            self::CLOSED => $service->closed($connection, $code === self::ABNORMAL ? 'the connection was reset' : $data),
            self::DRAINED => $service->drained($connection),
            default => $protocol === null ? $service->message($connection, $data) : self::messages($service, $connection, $protocol, $data),
        };
    }

    /** Gives a service the messages in what has arrived; what is left begins the next one. */
    private static function messages(Service $service, Connection $connection, Protocol $protocol, string $buffer): void
    {
        $wanted = 0;
        while (($message = $protocol->take($buffer, $connection, $wanted)) !== null) {
            $service->message($connection, $message);
        }
        if ($buffer !== '') {
            stream_give_back($connection->id, $buffer, $wanted);
        }
    }

    /** What is sent for a message, before the server frames it. */
    public static function encode(Connection $connection, string $message): string
    {
        $protocol = self::$protocols[connection_service($connection->id) ?? -1] ?? null;

        return $protocol === null ? $message : $protocol->encode($message, $connection);
    }
}
