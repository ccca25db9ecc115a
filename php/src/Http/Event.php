<?php

declare(strict_types=1);

namespace Weft\Http;

/** One of the server-sent events of a Response::events(). */
final class Event
{
    /**
     * @param string $data UTF-8; it may have several lines
     * @param ?string $id what a client that comes back sends as Last-Event-ID; null: none; without line breaks and NUL
     * @param ?string $name the event's type, which a browser's listeners go by; null for "message"; without line breaks
     * @param ?int $retryMs milliseconds after which a client that was cut off comes back; null: as before
     * @throws \ValueError
     */
    public function __construct(
        public readonly string $data,
        public readonly ?string $id = null,
        public readonly ?string $name = null,
        public readonly ?int $retryMs = null,
    ) {
        if (strpbrk((string) $id, "\r\n\0") !== false || strpbrk((string) $name, "\r\n") !== false) {
            throw new \ValueError('The id and the name of an event are on one line each, and an id has no NUL');
        }
        if ($retryMs !== null && $retryMs < 0) {
            throw new \ValueError("An event's retryMs is at least 0, not $retryMs");
        }
    }

    /** The event as it is sent (HTML, section 9.2.6). */
    public function __toString(): string
    {
        $lines = $this->name === null ? '' : "event: {$this->name}\n";
        $lines .= $this->id === null ? '' : "id: {$this->id}\n";
        $lines .= $this->retryMs === null ? '' : "retry: {$this->retryMs}\n";
        foreach (preg_split('/\r\n|\r|\n/', $this->data) ?: [] as $line) {
            $lines .= "data: $line\n";
        }

        return "$lines\n";
    }
}
