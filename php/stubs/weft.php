<?php

/**
 * The classes and functions that the weft server provides natively, for IDEs and static analysis.
 *
 * This file is never loaded by the server: it is what the binary's argument information is generated from
 * (php/stubs/generate.php), so that the two cannot differ.
 */

namespace Weft;

/**
 * Starts $work on a coroutine of its own. It begins when the running one next waits, or ends.
 *
 * The task has copies of its parent's Context and superglobals; all else of PHP's state is as the application's boot left it.
 * What it echoes goes to the error log, or in a script to standard output. What it throws goes to the coroutine that awaits it; if none
 * does, it is logged. In a script that `weft php` runs, the script ends when {main} and all tasks have ended. In the
 * application's own script, before it serves, tasks begin when the worker serves.
 *
 * @throws \Error when tasks_max tasks are alive, or PHP does not run under weft's coroutines
 */
function go(callable $work, mixed ...$arguments): Task {}

/** Calls $work when the running coroutine ends (in a handler: when the response has been handed over), last one first. */
function defer(callable $work): void {}

/**
 * Runs $work here, on this coroutine, for no longer than that: then its wait is interrupted.
 *
 * @param float $seconds more than 0
 * @throws TimeoutException when $work was interrupted and did not return for all that
 */
function timeout(float $seconds, callable $work): mixed {}

/**
 * Runs all at once, each on its own coroutine, and returns the results by key. The first failure cancels the others and is thrown.
 *
 * @param iterable<array-key, callable> $works
 * @param ?int $concurrency how many run at the same time; null for all
 * @throws TimeoutException
 */
function parallel(iterable $works, ?int $concurrency = null, ?float $timeout = null): array {}

/**
 * Runs all at once; returns or throws what the first to end returned or threw. The others are cancelled.
 *
 * @param iterable<array-key, callable> $works at least one
 * @throws TimeoutException
 */
function race(iterable $works, ?float $timeout = null): mixed {}

/**
 * The field traceparent (W3C Trace Context) with which the request that runs tells those whom it asks which trace they belong to:
 * the trace that its client named, or else a new one, and the request's own span. In a task, that of the request that started it.
 * The same each time. null when there is no request, or its response has ended.
 */
function traceparent(): ?string {}

/** Work that go() has started. */
final class Task
{
    private function __construct() {}

    /** A number for logs and reports, never used twice in a worker: Coroutine::id() of the coroutine that does the work. */
    public function id(): int {}

    /**
     * Waits for the end: what the work returned, or throws what it threw. It may be called often.
     *
     * @param ?float $timeout seconds; the task goes on when they have passed
     * @throws TimeoutException
     * @throws CancelledError when the task was cancelled, or the waiting coroutine is
     */
    public function await(?float $timeout = null): mixed {}

    /**
     * Interrupts: the present wait of the task, or else its next one, throws CancelledError, once. A task that has not begun
     * never does.
     *
     * @return bool false when it had ended, or was cancelled before
     */
    public function cancel(string $reason = ''): bool {}

    /** Whether it has returned or thrown. */
    public function ended(): bool {}

    /** Whether it has thrown. */
    public function failed(): bool {}
}

/** What locks, channels and pools are made of: waits that somebody else ends. */
final class Coroutine
{
    private function __construct() {}

    /** The number of the running coroutine, for logs; 0 when none runs: while an application boots. */
    public static function id(): int {}

    /** The task that runs; null in a handler, or in {main}. */
    public static function current(): ?Task {}

    /**
     * Opens a wait of the running coroutine. Pass its number to the code that will end it; then park() must follow, with nothing
     * in between that waits itself.
     *
     * @param string|object $on what it waits for, as reports should name it: a text, or an object for its class
     * @param bool $external something outside PHP will end it, a signal for example: it is not part of a deadlock
     * @throws \Error when nothing can wait here: no coroutine runs, or PHP forbids it (in a destructor)
     */
    public static function prepare(string|object $on, bool $external = false): int {}

    /**
     * Parks until wake().
     *
     * @param ?float $timeout seconds
     * @return bool false when they have passed
     * @throws CancelledError when the coroutine is interrupted meanwhile
     */
    public static function park(int $wait, ?float $timeout = null): bool {}

    /**
     * Parks until wake(), or until one of the streams is ready, or closed. For event loops.
     *
     * @internal
     * @param array<resource> $read
     * @param array<resource> $write
     * @param ?float $timeout seconds
     * @return array{list<int|string>, list<int|string>} the keys of those that can be read, and of those that can be written
     * @throws CancelledError when the coroutine is interrupted meanwhile
     */
    public static function parkOn(int $wait, array $read, array $write, ?float $timeout = null): array {}

    /** Ends a wait. False: it has ended already, so what it waited for goes to another coroutine. */
    public static function wake(int $wait): bool {}

    /**
     * Interrupts a coroutine by its id(), be it a task or not: its present wait, or else its next one, throws CancelledError, once.
     *
     * @return bool false when it has ended
     */
    public static function interrupt(int $id, string $reason = ''): bool {}

    /** Lets every other coroutine that is ready run first. */
    public static function yield(): void {}

    /**
     * The coroutines alive.
     *
     * @return list<array{id: int, task: ?Task, seconds: float, waiting_on: ?string, waiting_seconds: float, trace: list<array>}>
     */
    public static function list(): array {}
}

/** Values of the running coroutine. A task starts with a copy of its parent's, a request with what the boot has set. */
final class Context
{
    private function __construct() {}

    public static function get(string $key, mixed $default = null): mixed {}

    public static function set(string $key, mixed $value): void {}

    public static function has(string $key): bool {}

    public static function delete(string $key): void {}
}

/**
 * A wait was interrupted: its task was cancelled, a timeout() has passed, or the worker ends. It is thrown once: what cleans up
 * after it may wait again. Only a request that has run longer than request_timeout_ms gets it from each wait. An Error, so that
 * catching Exception does not swallow it.
 */
class CancelledError extends \Error {}

/** Something has not happened in its time. */
class TimeoutException extends \RuntimeException {}

/** All coroutines of a script wait for each other. */
class DeadlockError extends \Error {}

namespace Weft\Internal;

/**
 * In a forked child: it is killed when its parent ends, however that ends.
 *
 * @internal
 * @param int $parent the parent's process id; if that is gone already, the child is killed at once
 * @throws \Error in a process that is no forked child
 */
function end_with_parent(int $parent): void {}

/**
 * The request that runs.
 *
 * @internal
 * @throws \Error when none does
 */
function running_request(): \Weft\Http\Request {}

/**
 * A Writer for the response of the request that runs, in classic and in resident mode; its head is sent.
 *
 * @internal
 * @throws \Error when none runs
 */
function response_writer(): \Weft\Http\Writer {}

/**
 * Has the server answer with a file in place of what is echoed, in resident mode.
 *
 * @internal
 * @throws \Error when no request runs
 */
function response_file(string $path): void {}

/**
 * How the running request asks for a WebSocket: 0 it does not; 1 from a page of the same host, or as no browser; 2 from a page of
 * another host; 3 not validly, and it has been answered.
 *
 * @internal
 */
function websocket_asked(): int {}

/**
 * Answers the running request with 101.
 *
 * @internal
 * @param int $manner what becomes of messages without room; 4 more: wants drained(); 8 more: a coroutine takes the events
 * @param array<string, string> $headers
 * @param array<string, string> $attributes
 * @return ?string the name of the connection; null when the server has answered with an error, or the client has gone
 * @throws \ValueError when something of it cannot be sent or remembered; the request is still unanswered
 */
function websocket_accept(int $service, int $manner, ?string $protocol, array $headers, array $attributes): ?string {}

/** @internal Weft\WebSocket\Connection::send() */
function websocket_send(string $name, string $message, bool $binary, string $key): bool {}

/** @internal Weft\WebSocket\Connection::close() */
function websocket_close(string $name, int $code, string $reason): bool {}

/** @internal bytes that wait for the client; null when the connection is closed */
function websocket_waiting(string $name): ?int {}

/**
 * The next event of a connection, for the coroutine that it belongs to.
 *
 * @internal
 * @return array{int, string, int}|false|null its kind, its data and its code; false: nothing yet; null: nothing any more
 */
function websocket_next(string $name): mixed {}

/** @internal has a wait ended by the next event, or when nothing waits for the client; false: another coroutine waits for the same */
function websocket_await(string $name, int $wait, bool $drained): bool {}

/** @internal the coroutine that a connection belongs to has ended: it is closed */
function websocket_disown(string $name, int $code): void {}

/**
 * The application has a service of TCP connections.
 *
 * @internal
 * @param int $manner as for websocket_accept()
 * @param string $delimiter '' for none
 * @param int $prefixBytes 0 for none
 */
function stream_declare(
    string $path,
    int $service,
    int $manner,
    string $delimiter,
    int $prefixBytes,
    bool $littleEndian,
    bool $inclusive,
): void {}

/**
 * Messages of a service are given to its method message() without PHP code in between; whatever else happens, to Services::event().
 *
 * @internal
 * @param class-string $connection the class of the connection that it gets with them, whose first property is the name
 * @param bool $told whether it is told which of them are binary
 */
function service_receives(int $service, object $receiver, string $connection, bool $told): void {}

/** @internal gives back the beginning of a message, which is given again when there are that many bytes of it */
function stream_give_back(string $name, string $bytes, int $wanted): void {}

/**
 * Weft\Tcp\Connection::sendFile().
 *
 * @internal
 * @throws \ValueError for what cannot be sent
 */
function stream_send_file(string $name, string $path, int $offset, ?int $length): bool {}

/** @internal the address of a connection's client; null when it has ended */
function connection_client(string $name): ?string {}

/** @internal the number of a connection's service; null when it has ended */
function connection_service(string $name): ?int {}

/** @internal Weft\WebSocket\Connection::get() */
function websocket_attribute(string $name, string $attribute): ?string {}

/** @internal Weft\WebSocket\Connection::set() */
function websocket_remember(string $name, string $attribute, ?string $value): bool {}

/**
 * Weft\Topic::publish() of this server.
 *
 * @internal
 * @param string $except the ids of the connections that do not get it, with a space in between
 * @return string|bool|null the message's id; false when there was no room in time; null when this process is no server's
 * @throws \ValueError for a topic or a message that cannot be published
 */
function topic_publish(string $topic, string $message, bool $binary, string $except, string $key): string|bool|null {}

/**
 * Weft\WebSocket\Connection::subscribe() and resume().
 *
 * @internal
 * @param int $recent how many of the last messages come first, if $after is null or it is too late for what followed it
 * @return ?bool false when the connection has ended; null when it is too late for what followed $after
 * @throws \ValueError for a name that no topic can have, the 65th topic, or less than no messages
 */
function topic_subscribe(string $connection, string $topic, bool $labelled, ?string $after, int $recent): ?bool {}

/**
 * Weft\WebSocket\Connection::attend().
 *
 * @internal
 * @throws \ValueError for a name that cannot be used
 */
function topic_attend(string $connection, string $topic, string $name): bool {}

/**
 * Binds the response of the running request to topics: the request has ended, and its client gets events.
 *
 * @internal Weft\Http\Response::events()
 * @param list<string> $topics 1 to 64, without repetition
 * @param array<array-key, string> $names by topic, the name under which the client is present there
 * @param ?string $after the id of the last message that is known; null: what the request shows as Last-Event-ID
 * @param int $recent how many of each topic's last messages come first, if none is known or it is too late for what followed it
 * @param int $manner a Weft\WebSocket\Overflow, and 4 for events with the names of their topics
 * @return bool whether the client is still there
 * @throws \ValueError for a name that no topic can have, or the 65th topic
 * @throws \Error when no request runs, or its response has another form already
 */
function topic_stream(array $topics, array $names, ?string $after, int $recent, int $manner, int $heartbeatMs, int $retryMs): bool {}

/** @internal The id after which follows what this worker has still to deliver. */
function topic_position(): string {}

/** @internal Weft\WebSocket\Connection::unsubscribe() */
function topic_unsubscribe(string $connection, string $topic): bool {}

/**
 * Asks all workers about a topic, or the one that has a connection about that; the numbers are those of
 * crates/weft/src/bus/questions.rs.
 *
 * @internal
 * @return list<string>|bool|null the rows of all answers; null when not all workers have answered in time; false when this process
 *     is no server's
 */
function topic_ask(int $what, string $subject): array|bool|null {}

/** @internal Weft\WebSocket\Connection::topics(): each with the end of a line behind it */
function topic_list(string $connection): string {}

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

    /** Path and query of the target as they were sent: "/a%20b?c=d" (origin-form, RFC 9112 section 3.2.1); or "*". */
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

    /** A header by name in any case; several lines of one name are joined with ", " (RFC 9110 section 5.3), cookies with "; ". */
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
