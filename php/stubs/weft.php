<?php
/**
 * The classes and functions that the weft server provides natively, for IDEs and static analysis.
 *
 * This file is never loaded by the server: it is what the binary's argument information is generated from
 * (php/stubs/generate.php), so that the two cannot differ.
 */

namespace Weft\Http;

/**
 * An HTTP request as the server received it. Every method reads the request's bytes when it is called: what is not asked
 * for costs nothing. A Request may be kept after the response; then its body is gone.
 */
final class Request
{
    private function __construct() {}

    /** The method, in the case it was sent: "GET". */
    public function method(): string {}

    /** The request target as it was sent: "/a%20b?c=d" (RFC 9112 section 3.2). */
    public function target(): string {}

    /** The path of the target, not decoded: "/a%20b". "*" for OPTIONS *. */
    public function path(): string {}

    /** What follows the "?" in the target, not decoded; "" if there is none. */
    public function queryString(): string {}

    /**
     * A field of the query string as $_GET would have it; without a name, all of them.
     *
     * @return mixed string, array for "name[]=…", or $default
     */
    public function query(?string $name = null, mixed $default = null): mixed {}

    /** The protocol version: "1.0" or "1.1". */
    public function version(): string {}

    /** "http" or "https", as the client sees it when a trusted proxy says so. */
    public function scheme(): string {}

    /** The host the client asked for, with the port if one was given; as a trusted proxy reports it. */
    public function host(): string {}

    /** A header by name in any case; several lines of one name are joined with ", " (RFC 9110 section 5.3). */
    public function header(string $name, ?string $default = null): ?string {}

    /**
     * All headers, by lower-case name.
     *
     * @return array<string, list<string>>
     */
    public function headers(): array {}

    /**
     * Header fields that followed a chunked body, by lower-case name. Waits for the end of the body.
     *
     * @return array<string, list<string>>
     */
    public function trailers(): array {}

    /** A cookie by name, decoded as in $_COOKIE; without a name, all of them. */
    public function cookie(?string $name = null, mixed $default = null): mixed {}

    /** The whole body. Waits until it has arrived. @throws BodyException when it does not arrive */
    public function body(): string {}

    /**
     * The body as a readable stream, which waits for what has not arrived yet.
     *
     * @return resource
     */
    public function stream() {}

    /**
     * The body decoded from JSON, objects as arrays.
     *
     * @throws \JsonException when it is not JSON
     */
    public function json(int $depth = 512): mixed {}

    /** A field of an urlencoded or multipart body as in $_POST; without a name, all of them. Waits for the body. */
    public function form(?string $name = null, mixed $default = null): mixed {}

    /**
     * Uploaded files by field name; several files of one field are a list. They are deleted when the request ends.
     *
     * @return array<string, UploadedFile|array>
     */
    public function files(): array {}

    /** The address of the client; of the peer, or what a trusted proxy says. "" for a unix socket. */
    public function client(): string {}

    /** The address of the other end of the connection, be it the client or a proxy. "" for a unix socket. */
    public function peer(): string {}

    /** A name for this request, the same as in the logs. */
    public function id(): string {}

    /** When the request arrived, in seconds since 1970. */
    public function time(): float {}

    /** Whether the client has closed the connection, or its sending half, before the response was sent. */
    public function aborted(): bool {}

    /**
     * Sends an interim 103 response (RFC 8297), for HTTP/1.1 clients.
     *
     * @param array<string, string|list<string>> $headers for example ['Link' => '</app.css>; rel=preload; as=style']
     */
    public function sendEarlyHints(array $headers): void {}
}

/** The body of a response, written piece by piece. Given to the function that a Response has as its body. */
final class Writer
{
    private function __construct() {}

    /**
     * Sends bytes. Waits while the client does not keep up; other requests run meanwhile.
     *
     * @return bool false when the client has gone: nothing more needs to be made
     */
    public function write(string $chunk): bool {}
}
