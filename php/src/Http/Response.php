<?php

declare(strict_types=1);

namespace Weft\Http;

use Weft\Coroutine;
use Weft\Internal\EventStream;
use Weft\Internal\Output;
use Weft\Internal\TopicStream;
use Weft\WebSocket\Overflow;

/**
 * An HTTP response: a status, headers, and a body that is a string, a file, or made while it is sent.
 *
 * The setters change the response and return it, so that they can be chained. The server knows
 * the order of the four properties (crates/zend/c/response.c).
 */
final class Response
{
    private int $status = 200;

    /** @var list<string> name, value, name, value… */
    private array $headers = [];

    private string|\Traversable|\Closure $body;

    private ?string $file = null;

    /**
     * @param string|iterable<string>|callable(Writer): void $body a string; or what yields strings, each sent as it comes;
     *     or a function that writes
     * @param array<string, string|int|float|list<string>> $headers
     */
    public function __construct(string|iterable|callable $body = '', int $status = 200, array $headers = [])
    {
        $this->body = match (true) {
            is_string($body), $body instanceof \Traversable, $body instanceof \Closure => $body,
            is_callable($body) => $body(...), // @mago-expect analysis:invalid-callable -- is_callable() has just said so
            default => new \ArrayIterator($body),
        };
        if ($status !== 200) {
            $this->setStatus($status);
        }
        foreach ($headers as $name => $value) {
            $this->setHeader((string) $name, $value);
        }
    }

    /** A text/plain response. */
    public static function text(string $body, int $status = 200): self
    {
        return new self($body, $status, ['Content-Type' => 'text/plain; charset=UTF-8']);
    }

    /**
     * Data as JSON. Slashes and Unicode are left as they are.
     *
     * @throws \JsonException when the data cannot be encoded
     */
    public static function json(mixed $data, int $status = 200, int $flags = 0): self
    {
        $flags |= JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE;

        return new self((string) json_encode($data, $flags), $status, ['Content-Type' => 'application/json']);
    }

    /** Sends the client elsewhere: 302, or another of 301, 303, 307, 308. */
    public static function redirect(string $location, int $status = 302): self
    {
        if ($status < 300 || $status > 399) {
            throw new \ValueError("A redirect needs a status from 300 to 399, not $status");
        }

        return new self('', $status, ['Location' => $location]);
    }

    /**
     * A file, which the kernel sends without passing it through PHP, with its type, modification time and entity tag. Ranges
     * and conditional requests are answered. For a file that does not exist the answer is 404.
     *
     * @param string|null $download the name under which the client should save it
     */
    public static function file(string $path, ?string $download = null): self
    {
        $response = new self();
        $response->file = $path;
        if ($download !== null) {
            $quoted = addcslashes((string) preg_replace('/[^\x20-\x7e]/', '_', $download), '"\\');
            $response->setHeader('Content-Disposition', "attachment; filename=\"$quoted\"; filename*=UTF-8''" . rawurlencode($download));
        }

        return $response;
    }

    /**
     * Server-sent events, as they come: an EventSource of a browser receives them. While none comes, a comment is sent from time to
     * time, so that proxies keep the connection, and a client that has gone is noticed: then the events end, at their next wait.
     *
     * A client that was cut off comes back with the id of the last event that it has seen: Request::header('Last-Event-ID').
     *
     * With topics the stream goes on after the events, if there are any: what is published to them is sent until the client
     * goes, and no coroutine is held for it. A client that comes back gets what it has missed, or an event "missed".
     *
     * @param iterable<Event|string> $events a string is an event with that data
     * @param float $heartbeat seconds between comments while no event comes; 0 for none
     * @param string|list<string> $topics up to 64 topics
     * @param bool $labelled whether the events of topics have their topic's name; else they are "message"
     * @param Overflow $overflow what becomes of a message when websocket_queue_bytes_max bytes wait for the client
     * @param int $retryMs with topics: milliseconds after which a client comes back that was cut off
     * @param int $recent with topics: how many of the last messages of each are sent first to a client that shows no
     *     Last-Event-ID, or one that is too old
     * @param array<array-key, string> $attend by topic, the name under which the client is present there until its stream ends
     * @throws \ValueError
     */
    public static function events(
        iterable $events = [],
        float $heartbeat = 15.0,
        string|array $topics = [],
        bool $labelled = false,
        Overflow $overflow = Overflow::Close,
        int $retryMs = 2_000,
        int $recent = 0,
        array $attend = [],
    ): self {
        $headers = [
            'Content-Type' => 'text/event-stream',
            'Cache-Control' => 'no-store',
            'X-Accel-Buffering' => 'no', // nginx in front of it passes each event on
        ];
        if ($topics === []) {
            return new self((new EventStream($events, $heartbeat))->write(...), 200, $headers);
        }
        $bound = new TopicStream((array) $topics, $labelled, $overflow, $heartbeat, $retryMs, $recent, $attend);
        $headers['Cache-Control'] = 'no-store, no-transform'; // all clients get the same bytes

        return new self(static fn (Writer $writer) => $bound->write($writer, $events), 200, $headers);
    }

    /**
     * Sends it by header() and echo, from a script of classic mode or of a loop in resident mode. In coroutine mode a handler
     * returns its response.
     *
     * @throws \LogicException in coroutine mode
     */
    public function send(): void
    {
        if (Coroutine::id() !== 0) {
            throw new \LogicException('In coroutine mode a response is returned by the handler, not sent');
        }
        Output::send($this);
    }

    public function status(): int
    {
        return $this->status;
    }

    /** @throws \ValueError when it is not from 200 to 599 */
    public function setStatus(int $status): self
    {
        if ($status < 200 || $status > 599) {
            throw new \ValueError("A response needs a status from 200 to 599, not $status");
        }
        $this->status = $status;

        return $this;
    }

    /** The first value of a header, by name in any case. */
    public function header(string $name): ?string
    {
        for ($i = 0, $n = count($this->headers); $i < $n; $i += 2) {
            if (strcasecmp($this->headers[$i], $name) === 0) {
                return $this->headers[$i + 1];
            }
        }

        return null;
    }

    /**
     * Sets a header and replaces those of the same name.
     *
     * @param string|int|float|list<string> $value several values make several lines
     */
    public function setHeader(string $name, string|int|float|array $value): self
    {
        if ($this->headers !== []) {
            $kept = [];
            for ($i = 0, $n = count($this->headers); $i < $n; $i += 2) {
                if (strcasecmp($this->headers[$i], $name) !== 0) {
                    array_push($kept, $this->headers[$i], $this->headers[$i + 1]);
                }
            }
            $this->headers = $kept;
        }
        if (!is_array($value)) {
            return $this->addHeader($name, $value);
        }
        foreach ($value as $line) {
            $this->addHeader($name, $line);
        }

        return $this;
    }

    /**
     * Adds a header beside those of the same name.
     *
     * @throws \ValueError when the name is not a token, or the value would break the line
     */
    public function addHeader(string $name, string|int|float $value): self
    {
        $value = (string) $value;
        if (preg_match('/^[!#$%&\'*+.^_`|~0-9A-Za-z-]+$/D', $name) !== 1) {
            throw new \ValueError("\"$name\" is not a header name");
        }
        if (strpbrk($value, "\r\n\0") !== false) {
            throw new \ValueError("The value of header $name contains a line break or NUL");
        }
        $this->headers[] = $name;
        $this->headers[] = $value;

        return $this;
    }

    /** @return array<string, list<string>> all headers, by name as set */
    public function headers(): array
    {
        $all = [];
        for ($i = 0, $n = count($this->headers); $i < $n; $i += 2) {
            $all[$this->headers[$i]][] = $this->headers[$i + 1];
        }

        return $all;
    }

    /**
     * Sets a cookie (RFC 6265). HttpOnly and SameSite=Lax by default.
     *
     * @param int|null $maxAge seconds; null for a session cookie, 0 or less to delete it
     */
    public function setCookie(
        string $name,
        string $value = '',
        ?int $maxAge = null,
        string $path = '/',
        string $domain = '',
        bool $secure = false,
        bool $httpOnly = true,
        string $sameSite = 'Lax',
    ): self {
        if ($name === '' || strpbrk($name, "=,; \t\r\n\013\014\0") !== false) {
            throw new \ValueError("\"$name\" is not a cookie name");
        }
        if (strpbrk($path . $domain . $sameSite, ",; \t\r\n\013\014\0") !== false) {
            throw new \ValueError('A cookie\'s path, domain and SameSite cannot contain separators');
        }
        $cookie = $name . '=' . rawurlencode($value);
        if ($maxAge !== null) {
            $cookie .= '; Expires=' . gmdate('D, d M Y H:i:s \G\M\T', $maxAge > 0 ? time() + $maxAge : 1) . '; Max-Age=' . max(0, $maxAge);
        }
        $cookie .=
            "; Path=$path"
            . ($domain !== '' ? "; Domain=$domain" : '')
            . ($secure ? '; Secure' : '')
            . ($httpOnly ? '; HttpOnly' : '')
            . ($sameSite !== '' ? "; SameSite=$sameSite" : '');

        return $this->addHeader('Set-Cookie', $cookie);
    }

    /** The body if it is a string; '' for a file or a body that is made while it is sent. */
    public function body(): string
    {
        return is_string($this->body) ? $this->body : '';
    }
}
