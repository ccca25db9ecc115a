//! The limits on connections, requests and responses, each with its default.
//!
//! Must not know the configuration file. Invariant: nothing in this crate grows with a peer's input, or waits for a
//! peer, beyond one of these numbers.

use std::path::PathBuf;

use crate::tunnel::limits::TunnelLimits;

/// Limits of a [`Server`](crate::Server). `Default` gives the numbers stated at each field.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Limits on a request's head and body: 16 KiB, 100 fields, 8 MiB and so on, see [`weft_proto::RequestLimits`].
    pub http: weft_proto::RequestLimits,
    /// Connections of this worker: 20,000. Beyond that, each new one closes the connection that has been idle longest.
    /// If none is idle, new ones wait in the kernel's queue, and the next connection that gets an answer is told that
    /// it ends.
    pub connections_max: usize,
    /// Connections accepted in one turn of the loop: 64.
    pub accepts_per_turn: usize,
    /// Requests that wait for room in the handler: 1,000; further ones get 503.
    pub queue_max: usize,
    /// How long they may wait: 5,000 ms; 503 beyond.
    pub queue_timeout_ms: u64,
    /// Requests answered on one connection before it is closed: 0, which means no limit.
    pub requests_max: u32,
    /// Time from a request's first byte to the end of its head: 10,000 ms; 408 beyond.
    pub head_timeout_ms: u64,
    /// Time between requests, and before the first: 75,000 ms; the connection is then closed silently.
    pub idle_timeout_ms: u64,
    /// Time between two pieces of a body: 30,000 ms; beyond that, the body has failed with 408.
    pub body_timeout_ms: u64,
    /// How much of a longer body must have arrived before its request begins: 64 KiB. With 0 it begins with its head;
    /// with `u64::MAX`, with the whole body.
    pub body_begin_bytes: u64,
    /// The minimum rate of a body in bytes per second: 500; below it, the body has failed with 408. 0 for no
    /// minimum.
    pub body_rate_bytes_min: u64,
    /// The interval for which that rate is measured, which bridges a stall that `body_timeout_ms` allows:
    /// 30,000 ms.
    pub body_pace_ms: u64,
    /// How long the peer may take no byte of what is ready for it: 30,000 ms; the connection is then aborted.
    pub write_timeout_ms: u64,
    /// Bytes of a body kept in memory: 256 KiB. A larger body goes to a temporary file.
    pub body_memory_bytes_max: usize,
    /// The directory of such files; they have no name in it. By default the system's temporary directory.
    pub spool_directory: PathBuf,
    /// Total bytes of this worker's temporary files, for bodies and for responses that peers read slowly: 4 GiB, of
    /// which half is for responses, and an eighth for one response. Beyond that, bodies fail with 507, and writers wait
    /// for their peers. 0: no files.
    pub spool_bytes_max: u64,
    /// Bytes of a response that wait for the peer in memory: 256 KiB. Beyond that, they go to a temporary file, or
    /// writers wait until half of them have been sent.
    pub write_buffer_bytes_max: usize,
    /// Total bytes of all responses that wait in memory: 64 MiB. Beyond that, each further response may keep 16
    /// KiB there.
    pub waiting_bytes_max: usize,
    /// Bytes of an unread body that are read and dropped so that the connection can continue: 256 KiB.
    pub discard_bytes_max: u64,
    /// Bytes that are read and dropped after the last response of a connection, so that the peer can read it: 1
    /// GiB.
    pub linger_bytes_max: u64,
    /// How long such bytes are dropped: 30,000 ms.
    pub linger_timeout_ms: u64,
    /// How long without a byte, or in total while draining: 5,000 ms.
    pub linger_silence_ms: u64,
    /// Ranges of one request for a file: 16. A request for more is answered with the whole file.
    pub ranges_max: usize,
    /// Text files of at least this size are compressed for clients that accept it: 1 KiB. With 0 none are.
    pub compress_bytes_min: u64,
    /// Larger files are sent uncompressed, unless a compressed one lies beside them: 1 MiB, because compressing blocks
    /// the loop.
    pub compress_bytes_max: u64,
    /// Compressed files that are cached for further requests: 16 MiB.
    pub compressed_bytes_max: usize,
    /// Whether text that handlers answer with is compressed for clients that accept it, from `compress_bytes_min` on or if
    /// its length is not known: no.
    pub compress_responses: bool,
    /// While draining, an idle connection is kept this long for a request that is on its way: 2,000 ms.
    pub drain_idle_ms: u64,
    /// Streams of one HTTP/2 connection at a time: 100. With 0 HTTP/2 is not spoken.
    pub http2_streams_max: u32,
    /// Limits of WebSockets.
    pub tunnels: TunnelLimits,
    /// How long browsers should use TLS only (RFC 6797), in seconds: 0, which says nothing. Responses over TLS say it.
    pub hsts_s: u64,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            http: weft_proto::RequestLimits::default(),
            connections_max: 20_000,
            accepts_per_turn: 64,
            queue_max: 1_000,
            queue_timeout_ms: 5_000,
            requests_max: 0,
            head_timeout_ms: 10_000,
            idle_timeout_ms: 75_000,
            body_timeout_ms: 30_000,
            body_begin_bytes: 64 * 1024,
            body_rate_bytes_min: 500,
            body_pace_ms: 30_000,
            write_timeout_ms: 30_000,
            body_memory_bytes_max: 256 * 1024,
            spool_directory: std::env::temp_dir(),
            spool_bytes_max: 4 << 30,
            write_buffer_bytes_max: 256 * 1024,
            waiting_bytes_max: 64 * 1024 * 1024,
            discard_bytes_max: 256 * 1024,
            linger_bytes_max: 1024 * 1024 * 1024,
            linger_timeout_ms: 30_000,
            linger_silence_ms: 5_000,
            ranges_max: 16,
            compress_bytes_min: 1024,
            compress_bytes_max: 1024 * 1024,
            compressed_bytes_max: 16 * 1024 * 1024,
            compress_responses: false,
            drain_idle_ms: 2_000,
            http2_streams_max: 100,
            tunnels: TunnelLimits::default(),
            hsts_s: 0,
        }
    }
}
