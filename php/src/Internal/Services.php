<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Application as Whole;
use Weft\Http\Request;
use Weft\Http\Response;
use Weft\WebSocket\Accept;
use Weft\WebSocket\Connection;
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

    /** @var list<Service> */
    private static array $services = [];

    /** @var list<int> what becomes of messages without room, for each */
    private static array $overflow = [];

    /** @var list<list<string>> the other origins of each */
    private static array $origins = [];

    /** The handler of an application with services. */
    public static function handler(Whole $application): mixed
    {
        $paths = [];
        foreach ($application->services as $path => $service) {
            $paths[$path] = count(self::$services);
            self::$services[] = $service;
            self::$overflow[] = $service->overflow()->value;
            self::$origins[] = $service->origins();
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
        $decision = self::$services[$number]->authorise($request);
        if ($decision === false) {
            return Response::text("403 Forbidden\n", 403);
        }
        if ($decision instanceof Response) {
            return $decision;
        }
        $accept = $decision === true ? new Accept() : $decision;
        websocket_accept($number, self::$overflow[$number], $accept->protocol, $accept->headers, $accept->attributes);

        return ''; // it is answered
    }

    /** An event: the kind is 0 for opened, 1 for a text, 2 for a binary message, 3 for closed. */
    public static function event(int $service, int $kind, string $id, string $data, int $code): void
    {
        $connection = new Connection($id);
        match ($kind) {
            0 => self::$services[$service]->opened($connection),
            3 => self::$services[$service]->closed($connection, $code, $data),
            default => self::$services[$service]->message($connection, $data, $kind === 2),
        };
    }
}
