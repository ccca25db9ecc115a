<?php

declare(strict_types=1);

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Http\Writer;

/** Describes a request as the server understood it. */
function described(Request $request): Response
{
    return Response::json([
        'method' => $request->method(),
        'target' => $request->target(),
        'path' => $request->path(),
        'query' => $request->queryString(),
        'version' => $request->version(),
        'scheme' => $request->scheme(),
        'host' => $request->host(),
        'headers' => $request->headers(),
        'body' => $request->body(),
        'trailers' => $request->trailers(),
    ]);
}

/** Reads a body piece by piece; reports its length, its digest and the size of the largest piece. */
function digested(Request $request): Response
{
    $stream = $request->stream();
    $digest = hash_init('sha256');
    for ($length = 0, $largest = 0; !feof($stream);) {
        $piece = (string) fread($stream, 65536);
        hash_update($digest, $piece);
        $length += strlen($piece);
        $largest = max($largest, strlen($piece));
    }

    return Response::json(['length' => $length, 'sha256' => hash_final($digest), 'largest' => $largest]);
}

/** Sends a body back as it arrives. */
function pieces(Request $request): iterable
{
    $stream = $request->stream();
    while (!feof($stream)) {
        yield (string) fread($stream, 65536);
    }
}

/** Continues until the client has disconnected, then writes a note that it noticed. */
function until_aborted(Request $request): string
{
    file_put_contents('started', 'yes');
    while (!$request->aborted()) {
        usleep(2000);
    }
    file_put_contents('aborted', 'yes');

    return 'nobody reads this';
}

/** Writes more than any buffer holds, and notes the outcome. */
function flood(Writer $writer): void
{
    $chunk = str_repeat('x', 64 << 10);
    for ($sent = 0; $sent < (64 << 20); $sent += strlen($chunk)) {
        file_put_contents('written', (string) $sent);
        if (!$writer->write($chunk)) {
            file_put_contents('aborted', 'yes');

            return;
        }
    }
    file_put_contents('finished', 'yes');
}

function numbers(int $count): Generator
{
    for ($i = 1; $i <= $count; $i++) {
        yield "part $i;";
    }
}

function routed(Request $request): string|Response|Generator|null
{
    $query = $request->query(...);
    switch ($request->path()) {
        case '/hello':
            return 'Hello World';
        case '/describe':
        case '*':
            return described($request);
        case '/body':
            return new Response($request->body(), 200, ['Content-Type' => 'application/octet-stream']);
        case '/digest':
            return digested($request);
        case '/pieces':
            return pieces($request);
        case '/ignore-body':
            return 'ignored';
        case '/sleep':
            usleep((int) $query('ms', '10') * 1000);

            return 'slept ' . $query('name', '');
        case '/wait-for-file':
            while (!is_file($query('file'))) {
                usleep(1000);
            }

            return 'found ' . $query('file');
        case '/generator':
            return numbers((int) $query('count', '3'));
        case '/response-generator':
            return new Response(numbers(3), 201, ['X-Kind' => 'generator']);
        case '/array-body':
            return new Response(['a', 'b', 'c']);
        case '/writer':
            return new Response(function (Writer $writer): void {
                $writer->write('first ');
                usleep(1000);
                $writer->write('');
                $writer->write('second');
            });
        case '/gated-writer':
            return new Response(function (Writer $writer): void {
                $writer->write('before');
                while (!is_file('gate')) {
                    usleep(1000);
                }
                $writer->write('after');
            });
        case '/broken-writer':
            return new Response(function (Writer $writer): void {
                $writer->write('some bytes');
                throw new RuntimeException('in the middle');
            });
        case '/flood':
            return new Response(flood(...));
        case '/large':
            return str_repeat('0123456789', (int) $query('size', '1000') / 10);
        case '/known-length':
            return new Response(numbers(2), 200, ['Content-Length' => '14']);
        case '/until-aborted':
            return until_aborted($request);
        case '/hints':
            $request->sendEarlyHints(['Link' => ['</a.css>; rel=preload; as=style', '</b.js>; rel=preload; as=script']]);

            return 'hinted';
        case '/status':
            return new Response('', (int) $query('code'));
        case '/status-with-body':
            return new Response('a body', (int) $query('code'));
        case '/headers':
            return new Response('', 200, ['X-One' => 'a', 'X-Two' => ['b', 'c'], 'Date' => 'Sun, 06 Nov 1994 08:49:37 GMT']);
        case '/redirect':
            return Response::redirect('/elsewhere?x=1', 303);
        case '/cookies':
            return (new Response('set'))->setCookie('a', 'b c;d', 60, secure: true)->setCookie('gone', maxAge: 0);
        case '/inject':
            return injected($query('into'));
        case '/file':
            return Response::file(__DIR__ . '/' . $query('name'), $query('download'));
        case '/invalid-json':
            return Response::json(['x' => "\xff"]);
        case '/json':
            try {
                return Response::json(['got' => $request->json()]);
            } catch (JsonException $error) {
                return Response::json(['error' => $error->getMessage()], 400);
            }
    }

    return new Response('Not Found', 404);
}

/** Tries to inject into a response's head; reports how that was refused. */
function injected(?string $into): Response
{
    try {
        return match ($into) {
            'value' => new Response('', 200, ['X-A' => "b\r\nX-Injected: 1"]),
            'name' => new Response('', 200, ["X-A: b\r\nX-Injected" => '1']),
            'redirect' => Response::redirect("/\r\nX-Injected: 1"),
            'cookie' => (new Response())->setCookie('a', "b\r\nX-Injected: 1"),
            'cookie-path' => (new Response())->setCookie('a', 'b', path: "/\r\nX-Injected: 1"),
            'length' => new Response('twelve bytes', 200, ['Content-Length' => '3']),
            'transfer' => new Response('twelve bytes', 200, ['Transfer-Encoding' => 'gzip']),
        };
    } catch (ValueError $error) {
        return new Response('refused: ' . $error->getMessage());
    }
}

return routed(...);
