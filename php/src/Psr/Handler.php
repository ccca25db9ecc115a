<?php

declare(strict_types=1);

namespace Weft\Psr;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamInterface;
use Psr\Http\Message\UploadedFileInterface;
use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Http\UploadedFile;

/**
 * Makes a handler of something that speaks PSR-7: a function, or the handle() of a PSR-15 RequestHandlerInterface.
 *
 * An application's script may return its PSR-15 object as it is; this class is for applications with factories of their own.
 */
final class Handler
{
    /** Bodies up to this size are sent as one piece with their length; larger ones, and those of unknown size, as a stream. */
    private const WHOLE_BODY_BYTES_MAX = 1 << 20;
    private const CHUNK_BYTES = 1 << 16;

    private readonly \Closure $handler;

    private readonly Factories $factories;

    /** @param callable(ServerRequestInterface): mixed $handler what it returns is a ResponseInterface, or anything a handler may return */
    public function __construct(callable $handler, ?Factories $factories = null)
    {
        $this->handler = $handler(...);
        $this->factories = $factories ?? Factories::installed();
    }

    public function __invoke(Request $request): mixed
    {
        $response = ($this->handler)($this->request($request));

        return $response instanceof ResponseInterface ? self::response($response) : $response;
    }

    /** The request as PSR-7 has it. Its body is read when it is asked for. */
    public function request(Request $from): ServerRequestInterface
    {
        $request = $this->factories->requests->createServerRequest($from->method(), $this->uri($from), self::serverParams($from));
        $request = $request->withProtocolVersion($from->version())
            ->withCookieParams($from->cookie())
            ->withQueryParams($from->query())
            ->withBody($this->factories->streams->createStreamFromResource($from->stream()));
        foreach ($from->headers() as $name => $values) {
            $request = $request->withHeader((string) $name, $values);
        }
        if ($from->method() === 'POST' && self::isForm($from)) {
            $request = $request->withParsedBody($from->form())->withUploadedFiles($this->files($from->files()));
        }

        return $request;
    }

    /** A PSR-7 response as weft sends it. */
    public static function response(ResponseInterface $from): Response
    {
        $body = $from->getBody();
        $size = $body->getSize();
        $whole = $size !== null && $size <= self::WHOLE_BODY_BYTES_MAX;
        if ($body->isSeekable()) {
            $body->rewind();
        }

        /** @var array<string, list<string>> $headers */
        $headers = $from->getHeaders();

        return new Response($whole ? $body->getContents() : self::chunks($body), $from->getStatusCode(), $headers);
    }

    /** @return \Generator<int, string> */
    private static function chunks(StreamInterface $body): \Generator
    {
        while (!$body->eof()) {
            yield $body->read(self::CHUNK_BYTES);
        }
    }

    private function uri(Request $from): \Psr\Http\Message\UriInterface
    {
        $uri = $this->factories
            ->uris
            ->createUri()
            ->withScheme($from->scheme())
            ->withPath($from->path())
            ->withQuery($from->queryString());
        if (preg_match('/^(\[[^]]+\]|[^:]+)(?::(\d+))?$/D', $from->host(), $parts) === 1) {
            $uri = $uri->withHost($parts[1])->withPort(isset($parts[2]) ? (int) $parts[2] : null);
        }

        return $uri;
    }

    /** @return array<string, mixed> what applications look for in $_SERVER; headers are not repeated */
    private static function serverParams(Request $from): array
    {
        return (
            [
                'REQUEST_METHOD' => $from->method(),
                'REQUEST_URI' => $from->target(),
                'QUERY_STRING' => $from->queryString(),
                'REQUEST_SCHEME' => $from->scheme(),
                'SERVER_PROTOCOL' => 'HTTP/' . $from->version(),
                'REMOTE_ADDR' => $from->client(),
                'REQUEST_TIME' => (int) $from->time(),
                'REQUEST_TIME_FLOAT' => $from->time(),
            ] + ($from->scheme() === 'https' ? ['HTTPS' => 'on'] : [])
        );
    }

    private static function isForm(Request $from): bool
    {
        $type = strtolower(trim(explode(';', (string) $from->header('Content-Type'))[0]));

        return $type === 'application/x-www-form-urlencoded' || $type === 'multipart/form-data';
    }

    /**
     * @param array<array-key, UploadedFile|array> $files
     * @return array<array-key, UploadedFileInterface|array>
     */
    private function files(array $files): array
    {
        $streams = $this->factories->streams;

        return array_map(fn (UploadedFile|array $file) => is_array($file)
            ? $this->files($file)
            : $this->factories->files->createUploadedFile(
                $file->error() === UPLOAD_ERR_OK ? $streams->createStreamFromFile($file->path()) : $streams->createStream(),
                $file->size(),
                $file->error(),
                $file->name(),
                $file->type(),
            ), $files);
    }
}
