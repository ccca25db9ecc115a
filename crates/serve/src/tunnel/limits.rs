//! The limits of tunnels, each with its default.
//!
//! Must not know the configuration file. Invariant: nothing of a tunnel grows with a peer's input, or waits for a peer,
//! beyond one of these numbers or a constant beside it.

/// The limits of tunnels, with their defaults.
#[derive(Clone, Copy, Debug)]
pub struct TunnelLimits {
    /// Bytes of a message that is received: 1 MiB. Beyond it the tunnel is closed with 1009.
    pub message_bytes_max: usize,
    /// Bytes that wait for one peer: 1 MiB. Beyond it, what [`Overflow`](crate::Overflow) says.
    pub queue_bytes_max: usize,
    /// The same for a stream: 1 MiB.
    pub stream_message_bytes_max: usize,
    /// The same for a stream: 1 MiB.
    pub stream_queue_bytes_max: usize,
    /// Silence of a stream's peer after which it is closed: 600,000 ms. 0: never.
    pub stream_idle_ms: u64,
    /// Silence of a peer after which it gets a ping: 30,000 ms. 0: none.
    pub ping_ms: u64,
    /// How long it may then be silent: 10,000 ms. Beyond it the connection is closed.
    pub ping_timeout_ms: u64,
    /// How long the peer may take to answer a close frame: 5,000 ms.
    pub close_timeout_ms: u64,
    /// Whether messages may be compressed, if the peer offers it: no.
    pub deflates: bool,
    /// The span over which a worker that ends closes its tunnels: 0, all at once.
    pub leave_ms: u64,
}

impl Default for TunnelLimits {
    fn default() -> TunnelLimits {
        TunnelLimits {
            message_bytes_max: 1024 * 1024,
            queue_bytes_max: 1024 * 1024,
            stream_message_bytes_max: 1024 * 1024,
            stream_queue_bytes_max: 1024 * 1024,
            stream_idle_ms: 600_000,
            ping_ms: 30_000,
            ping_timeout_ms: 10_000,
            close_timeout_ms: 5_000,
            deflates: false,
            leave_ms: 0,
        }
    }
}
