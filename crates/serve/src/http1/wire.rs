//! What HTTP/1.1 keeps beside a stream: the bytes of the connection that are not the stream's own.
//!
//! Must not know what they mean. Invariant: `carry` is empty unless a request is open.

/// Beside one stream, because HTTP/1.1 has one at a time and an idle connection holds no buffers.
pub(crate) struct Wire {
    /// Where in the stream's input the next request begins.
    pub next: usize,
    /// Bytes received beyond the body while the input must not change.
    pub carry: Vec<u8>,
    /// Whether another request may follow.
    pub keep_alive: bool,
    /// Whether the request was refused before its end was known: the rest of its bytes mean nothing.
    pub refused: bool,
    /// Bytes of the body that had arrived when the server began to drop the rest.
    pub discard_from: u64,
}

impl Default for Wire {
    fn default() -> Wire {
        Wire { next: 0, carry: Vec::new(), keep_alive: true, refused: false, discard_from: 0 }
    }
}
