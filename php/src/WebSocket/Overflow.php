<?php

declare(strict_types=1);

namespace Weft\WebSocket;

/** What becomes of a message when websocket_queue_bytes_max bytes wait for its client. */
enum Overflow: int
{
    /** The connection is closed with 1013: the client comes back and starts anew. */
    case Close = 0;
    /** The messages that have waited longest are dropped for it: for states, of which the last one counts. */
    case DropOldest = 1;
    /** It is dropped, and send() returns false. */
    case DropNewest = 2;
}
