<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Http\Response;

/**
 * Sends what a handler has returned where PHP has one request at a time: by header() and echo.
 *
 * @internal
 */
final class Output
{
    /** The response for what a handler has returned, the same as in coroutine mode. */
    public static function send(mixed $value): void
    {
        if ($value instanceof Response) {
            self::sendResponse($value);
        } elseif ($value instanceof \Traversable) {
            self::sendBody($value);
        } elseif (is_array($value) || (is_object($value) && !$value instanceof \Stringable)) {
            throw new \TypeError(
                'The handler returned '
                . get_debug_type($value)
                . '; return a string, null, a '
                . 'Weft\\Http\\Response (for data: Weft\\Http\\Response::json()) or a Generator',
            );
        } else {
            echo $value;
        }
    }

    private static function sendResponse(Response $response): void
    {
        /** @var array{string|\Traversable<mixed, string>|\Closure, ?string} $parts private to the response */
        $parts = \Closure::bind(fn (): array => [$this->body, $this->file], $response, Response::class)();
        [$body, $file] = $parts;
        \http_response_code($response->status());
        // Otherwise header() would add it to every text type.
        $charset = ini_set('default_charset', '');
        foreach ($response->headers() as $name => $values) {
            $replace = strcasecmp($name, 'Set-Cookie') !== 0;
            foreach ($values as $value) {
                \header("$name: $value", $replace);
                $replace = false;
            }
        }
        ini_set('default_charset', (string) $charset);
        if ($file !== null) {
            response_file(realpath($file) ?: $file);
        } else {
            self::sendBody($body);
        }
    }

    private static function sendBody(string|\Traversable|\Closure $body): void
    {
        if (is_string($body)) {
            echo $body;

            return;
        }
        while (ob_get_level() > 0) {
            ob_end_flush();
        }
        // The client gets the head before the first piece, which may take long. flush() sends a head only with output.
        $writer = response_writer();
        if (!$body instanceof \Traversable) {
            $body($writer);

            return;
        }
        foreach ($body as $chunk) {
            echo $chunk;
            flush();
            if (connection_aborted()) {
                return;
            }
        }
    }
}
