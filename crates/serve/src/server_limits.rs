//! The bounds of connections, requests and responses, each with its default.
//!
//! Knows no configuration file. Invariant: nothing in this crate grows with a peer's input, or waits for a peer, beyond
//! one of these numbers.

use std::path::PathBuf;

/// Bounds of a [`Server`](crate::Server). `Default` gives the numbers named at each field.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Bounds of a request's head and body: 16 KiB, 100 fields, 8 MiB and so on, see [`weft_proto::RequestLimits`].
    pub http: weft_proto::RequestLimits,
    /// Connections of this worker: 20,000. Beyond it the one that has been idle longest is closed for each new one; without an
    /// idle one, new ones wait in the kernel's queue and whoever is answered next is told that its connection ends.
    pub connections_max: usize,
    /// Connections accepted in one turn of the loop: 64.
    pub accepts_per_turn: usize,
    /// Requests that wait for room in the handler: 1,000; a further one is answered with 503.
    pub queue_max: usize,
    /// How long they may: 5,000 ms; 503 beyond.
    pub queue_timeout_ms: u64,
    /// Requests answered on one connection, then it is closed: 0, which is no limit.
    pub requests_max: u32,
    /// From a request's first byte to the end of its head: 10,000 ms; 408 beyond.
    pub head_timeout_ms: u64,
    /// Between requests, and before the first: 75,000 ms; the connection is closed silently.
    pub idle_timeout_ms: u64,
    /// Between two pieces of a body: 30,000 ms; the body has failed with 408 beyond.
    pub body_timeout_ms: u64,
    /// Of a body that is longer, so much has to be there before its request begins: 64 KiB. 0: it begins with its head;
    /// `u64::MAX`: with all of its body.
    pub body_begin_bytes: u64,
    /// Bytes a second that a body has to bring: 500; it has failed with 408 beyond. 0 for no such bound.
    pub body_rate_bytes_min: u64,
    /// In each span of so long, which bridges a stall that `body_timeout_ms` allows: 30,000 ms.
    pub body_pace_ms: u64,
    /// Without the peer taking a byte of what is ready for it: 30,000 ms; the connection is aborted.
    pub write_timeout_ms: u64,
    /// Bytes of a body kept in memory: 256 KiB. Beyond it the body goes to a temporary file.
    pub body_memory_bytes_max: usize,
    /// Where such files are made; they have no name in it. The system's temporary directory.
    pub spool_directory: PathBuf,
    /// Bytes of all such files of this worker, and of those for responses that their peers take slowly: 4 GiB, half of it for
    /// responses, an eighth for one of them. Beyond it bodies fail with 507, and writers wait for their peers. 0: no files.
    pub spool_bytes_max: u64,
    /// Bytes of a response that wait for the peer in memory: 256 KiB. Beyond it they go to a temporary file, or writers wait
    /// until half has gone.
    pub write_buffer_bytes_max: usize,
    /// Bytes of all responses together that wait in memory: 64 MiB. Beyond it each further one has 16 KiB there.
    pub waiting_bytes_max: usize,
    /// Bytes of an unread body that are read and dropped so that the connection can go on: 256 KiB.
    pub discard_bytes_max: u64,
    /// Bytes read and dropped after the last response of a connection, so that the peer can read it: 1 GiB.
    pub linger_bytes_max: u64,
    /// Time for the same: 30,000 ms.
    pub linger_timeout_ms: u64,
    /// Without a byte in that time, or while draining at all: 5,000 ms.
    pub linger_silence_ms: u64,
    /// Ranges of one request for a file: 16. A request for more is answered with the whole file.
    pub ranges_max: usize,
    /// Text files from this size on are compressed for clients that take it: 1 KiB. 0 compresses none.
    pub compress_bytes_min: u64,
    /// Larger files are sent as they are, unless a compressed one lies beside them: 1 MiB, as compressing holds the loop.
    pub compress_bytes_max: u64,
    /// Compressed files that are kept for the next request: 16 MiB.
    pub compressed_bytes_max: usize,
    /// While draining, an idle connection is kept this long for a request that is on its way: 2,000 ms.
    pub drain_idle_ms: u64,
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
            drain_idle_ms: 2_000,
        }
    }
}
