<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Application as Whole;
use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Tcp\Endpoint as StreamEndpoint;
use Weft\Udp\Peer;
use Weft\Udp\Service as DatagramService;
use Weft\WebSocket\Accept;
use Weft\WebSocket\Connection;
use Weft\WebSocket\Conversation;
use Weft\WebSocket\Endpoint;
use Weft\WebSocket\Service;

/**
 * The services of an application: which one a request for a WebSocket is for, and which method an event calls.
 *
 * @internal called by the server
 */
final class Services
{
    private const ASKED_OF_OTHER_ORIGIN = 2;
    private const ANSWERED = 3;

    /** Bits of a manner, above Overflow. */
    private const WANTS_DRAINED = 4;
    private const IS_OWNED = 8;
    private const TAKES_DATAGRAMS = 16;

    /** @var list<Endpoint|StreamEndpoint|DatagramService> */
    private static array $services = [];

    /** @var list<int> what becomes of messages without room, and which events it takes, for each */
    private static array $manners = [];

    /** @var list<list<string>> the other origins of each */
    private static array $origins = [];

    /** The handler of an application with services. */
    public static function handler(Whole $application): mixed
    {
        $paths = [];
        foreach ($application->services as $path => $service) {
            $number = count(self::$services);
            self::$services[] = $service;
            if ($service instanceof DatagramService) {
                stream_declare($path, $number, self::TAKES_DATAGRAMS, '', 0, false, false);
                self::$manners[] = 0;
                self::$origins[] = [];
                continue;
            }
            if ($service instanceof StreamEndpoint) {
                Streams::declare($path, $number, $service);
                self::$manners[] = 0;
                self::$origins[] = [];
                continue;
            }
            $paths[$path] = $number;
            self::$manners[] = self::manner($service);
            self::$origins[] = $service->origins();
            if ($service instanceof Service) {
                service_receives($number, $service, Connection::class, true);
            }
        }
        $handler = Application::handler($application->handler);
        if (!is_callable($handler)) {
            return $handler; // the server says what is wrong with it
        }

        return static function (Request $request) use ($handler, $paths): mixed {
            $number = $paths[$request->path()] ?? null;
            if ($number === null || ($asked = websocket_asked()) === 0) {
                return $handler($request);
            }

            return $asked === self::ANSWERED ? '' : self::accept($request, $number, $asked);
        };
    }

    /** Answers a valid handshake. */
    private static function accept(Request $request, int $number, int $asked): Response|string
    {
        if ($asked === self::ASKED_OF_OTHER_ORIGIN) {
            $origins = self::$origins[$number];
            if (!in_array('*', $origins, true) && !in_array($request->header('Origin'), $origins, true)) {
                return Response::text("403 Forbidden: pages of this origin may not connect\n", 403);
            }
        }
        $service = self::$services[$number];
        \assert($service instanceof Endpoint);
        $decision = $service->authorise($request);
        if ($decision === false) {
            return Response::text("403 Forbidden\n", 403);
        }
        if ($decision instanceof Response) {
            return $decision;
        }
        $accept = $decision === true ? new Accept() : $decision;
        websocket_accept($number, self::$manners[$number], $accept->protocol, $accept->headers, $accept->attributes);

        return ''; // it is answered
    }

    /** What the server has to know of a service besides its number. */
    public static function manner(Endpoint|StreamEndpoint $service): int
    {
        $manner = $service->overflow()->value;
        if ($service instanceof Conversation || $service instanceof \Weft\Tcp\Conversation) {
            return $manner | self::IS_OWNED;
        }
        // One that does nothing there is not called for it.
        $drained = new \ReflectionMethod($service, 'drained');

        $does = !in_array($drained->class, [Service::class, \Weft\Tcp\Service::class], true);

        return !$does ? $manner : $manner | self::WANTS_DRAINED;
    }

    /**
     * An event that the server does not give to the service itself, as it does most messages: the kind is 0 for opened, 1 for a text,
     * 2 for a binary message, 3 for closed, 4 for drained.
     */
    public static function event(int $service, int $kind, string $id, string $data, int $code): void
    {
        if (self::$services[$service] instanceof StreamEndpoint) {
            Streams::event($service, self::$services[$service], $kind, $id, $data, $code);

            return;
        }
        $service = self::$services[$service];
        if ($service instanceof DatagramService) {
            $service->message(new Peer($id), $data);

            return;
        }
        $connection = new Connection($id);
        if ($service instanceof Conversation) {
            Conversing::begin($service, $connection);

            return;
        }
        \assert($service instanceof Service);
        match ($kind) {
            0 => $service->opened($connection),
            3 => $service->closed($connection, $code, $data),
            4 => $service->drained($connection),
            default => $service->message($connection, $data, $kind === 2),
        };
    }
}
