<?php

declare(strict_types=1);

namespace Weft;

use Psr\Http\Server\RequestHandlerInterface;
use Weft\Tcp\Endpoint as StreamEndpoint;
use Weft\Udp\Service as DatagramService;
use Weft\WebSocket\Endpoint;

/**
 * What an application's script returns that has WebSocket services beside its HTTP handler. Coroutine mode only.
 *
 *     return new Weft\Application($handler, ['/chat' => new Chat()]);
 *
 * A request for a WebSocket goes to the service of its path, which is compared as it was sent, without the query. All other
 * requests, those for a WebSocket at other paths among them, go to the handler.
 */
final class Application
{
    /**
     * @param callable|RequestHandlerInterface $handler what the script would return without services
     * @param array<string, Endpoint|StreamEndpoint|DatagramService> $services by path, "/chat" for example: those of WebSockets, and of
     *     addresses such as tcp://127.0.0.1:9000/chat and udp://127.0.0.1:9000/chat
     * @throws \ValueError for a path that does not begin with a slash
     */
    public function __construct(
        public readonly mixed $handler,
        public readonly array $services,
    ) {
        foreach ($services as $path => $_) {
            if (!str_starts_with((string) $path, '/')) {
                throw new \ValueError("The path of a service begins with a slash: \"$path\" does not");
            }
        }
    }
}
