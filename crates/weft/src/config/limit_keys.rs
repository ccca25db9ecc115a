//! The rows of `[limits]` in the table of every setting: see [`super::keys`], to which they belong.
//!
//! Must not know where a value came from. Invariant: each limit of a request, a connection or a coroutine that an
//! operator can change has its row here.

use super::Config;
use super::key::{Arity, DAY_MS, GIB, KIB, Key, MIB, key, number};
use super::value::Unit;

/// The rows of `[limits]`.
pub const LIMITS: &[Key] = &[
    number!(
        limits.head_bytes_max,
        "head-bytes-max",
        Bytes,
        256..=MIB,
        "Request line and headers together; beyond it 431"
    ),
    number!(
        limits.header_count_max,
        "header-count-max",
        Count,
        1..=1000,
        "Header fields of one request; beyond it 431"
    ),
    number!(
        limits.target_bytes_max,
        "target-bytes-max",
        Bytes,
        64..=MIB,
        "The request target; beyond it 414"
    ),
    number!(
        limits.body_bytes_max,
        "body-bytes-max",
        Bytes,
        0..=1024 * GIB,
        "A request's body; beyond it 413"
    ),
    number!(
        limits.body_memory_bytes_max,
        "body-memory-bytes-max",
        Bytes,
        0..=GIB,
        "Part of a body that stays in memory; the rest goes to a temporary file"
    ),
    number!(
        limits.body_begin_bytes,
        "body-begin-bytes",
        Bytes,
        0..=GIB,
        "Part of a longer body that must arrive before its request begins in coroutine mode; 0 begins with the head"
    ),
    number!(
        limits.body_rate_bytes_min,
        "body-rate-bytes-min",
        Bytes,
        0..=GIB,
        "Bytes a second that a body must bring, over each 30 s; below it 408; 0 is off"
    ),
    number!(
        limits.response_buffer_bytes_max,
        "response-buffer-bytes-max",
        Bytes,
        4 * KIB..=GIB,
        "Part of a response that may wait in memory for its client; beyond it a stream of coroutine mode waits, and the rest of other responses goes to a temporary file"
    ),
    number!(
        limits.spool_bytes_max,
        "spool-bytes-max",
        Bytes,
        0..=1024 * GIB,
        "Temporary files of a worker together, for bodies and responses that exceed memory; responses get half of it; beyond it bodies get 507 and responses wait for their clients; 0 makes no such files"
    ),
    number!(
        limits.head_timeout_ms,
        "head-timeout-ms",
        Milliseconds,
        1..=DAY_MS,
        "From a request's first byte to the end of its head; beyond it 408"
    ),
    number!(
        limits.body_timeout_ms,
        "body-timeout-ms",
        Milliseconds,
        1..=DAY_MS,
        "How long a body may stall; beyond it 408"
    ),
    number!(
        limits.idle_timeout_ms,
        "idle-timeout-ms",
        Milliseconds,
        1..=DAY_MS,
        "How long a connection may wait for its next request"
    ),
    number!(
        limits.write_timeout_ms,
        "write-timeout-ms",
        Milliseconds,
        1..=DAY_MS,
        "How long a client may read nothing of its response"
    ),
    number!(
        limits.request_timeout_ms,
        "request-timeout-ms",
        Milliseconds,
        0..=DAY_MS,
        "How long a request may run before it is cancelled with 504; 0 is off"
    ),
    number!(
        limits.request_slow_ms,
        "request-slow-ms",
        Milliseconds,
        0..=DAY_MS,
        "A request that has taken this long is logged once, with where its PHP code stands, what it waits for, and where its time went; 0 is off"
    ),
    number!(
        limits.connections_max,
        "connections-max",
        Count,
        1..=10_000_000,
        "Connections per worker; beyond it the one that is idle longest is closed for a new one; if none is idle, the new one waits"
    ),
    number!(
        limits.coroutines_max,
        "coroutines-max",
        Count,
        1..=1_000_000,
        "Requests running at once per worker; beyond it they queue"
    ),
    number!(
        limits.tasks_max,
        "tasks-max",
        Count,
        1..=1_000_000,
        "Tasks running at once per worker; beyond it go() throws"
    ),
    number!(
        limits.queue_max,
        "queue-max",
        Count,
        0..=1_000_000,
        "Requests waiting for a coroutine per worker, and as many for their shares; beyond it 503 with Retry-After"
    ),
    number!(
        limits.queue_timeout_ms,
        "queue-timeout-ms",
        Milliseconds,
        1..=DAY_MS,
        "How long a request may wait for a coroutine, and for its shares; beyond it 503 with Retry-After"
    ),
    key!(
        limits.shares,
        "shares",
        Many,
        "SHARE",
        "path /PATH N, header NAME N, address N",
        "none",
        |v| v.shares()?,
        "Requests of one path, one value of a header or one client running at once per worker; beyond it they wait in a queue of their own; may be repeated"
    ),
    number!(
        limits.websocket_message_bytes_max,
        "websocket-message-bytes-max",
        Bytes,
        1..=GIB,
        "A message of a WebSocket client; beyond it the connection is closed with 1009"
    ),
    number!(
        limits.websocket_queue_bytes_max,
        "websocket-queue-bytes-max",
        Bytes,
        KIB..=GIB,
        "Messages that wait for one WebSocket client; beyond it what the service's overflow() says, by default the connection is closed with 1013"
    ),
    number!(
        limits.websocket_ping_ms,
        "websocket-ping-ms",
        Milliseconds,
        0..=DAY_MS,
        "How long a WebSocket client may be silent before it gets a ping, which comes up to 1 s or a sixteenth of it earlier; 0 is never"
    ),
    number!(
        limits.websocket_ping_timeout_ms,
        "websocket-ping-timeout-ms",
        Milliseconds,
        1..=DAY_MS,
        "How long it may then stay silent; beyond it the connection is closed"
    ),
    number!(
        limits.tcp_message_bytes_max,
        "tcp-message-bytes-max",
        Bytes,
        1..=GIB,
        "A message of a client of a TCP service; beyond it the connection is closed"
    ),
    number!(
        limits.tcp_queue_bytes_max,
        "tcp-queue-bytes-max",
        Bytes,
        KIB..=GIB,
        "Messages that wait for one client of a TCP service; beyond it what the service's overflow() says, by default the connection is closed"
    ),
    number!(
        limits.tcp_idle_timeout_ms,
        "tcp-idle-timeout-ms",
        Milliseconds,
        0..=DAY_MS,
        "How long a client of a TCP service may send nothing before its connection is closed; 0 is for ever"
    ),
    number!(
        limits.stack_bytes,
        "stack-bytes",
        Bytes,
        128 * KIB..=256 * MIB,
        "Address space of a coroutine's C stack; only touched pages cost memory"
    ),
];
