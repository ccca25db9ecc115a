<?php

declare(strict_types=1);

namespace Weft\Internal;

/**
 * Resident mode for a script that returns its handler: the loop that takes the requests, which the script need not write.
 *
 * @internal called by the server
 */
final class Resident
{
    /** Takes requests until the script has to end. */
    public static function serve(mixed $returned): void
    {
        if ($returned instanceof \Weft\Application) {
            throw new \TypeError('WebSocket services need coroutine mode: in resident mode a script returns its handler alone');
        }
        $handler = Application::handler($returned);
        if (!is_callable($handler)) {
            throw new \TypeError(
                'The worker script returned '
                . get_debug_type($returned)
                . '; it must return a handler, or call '
                . 'frankenphp_handle_request() in a loop',
            );
        }
        $one = static function () use ($handler): void {
            Output::send($handler(running_request()));
        };
        while (\frankenphp_handle_request($one)) {
        }
    }
}
