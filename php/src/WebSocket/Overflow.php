<?php

declare(strict_types=1);

namespace Weft\WebSocket;

/** What becomes of a message when as many bytes wait for its client as websocket_queue_bytes_max or tcp_queue_bytes_max says. */
enum Overflow: int
{
    /** The connection is closed with 1013: the client comes back and starts anew. */
    case Close = 0;
    /** The messages that have waited longest are dropped for it: for states, of which the last one counts. */
    case DropOldest = 1;
    /** It is dropped, and send() returns false. */
    case DropNewest = 2;
    /**
     * For many states: while a message with a key waits, the next one with the same key takes its place. The connection is closed with
     * 1013 when there is still no room: messages without keys are never dropped. One key of two topics is two keys.
     */
    case KeepNewest = 3;
}
