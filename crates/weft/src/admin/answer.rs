//! An answer for the operator.
//!
//! Must not know what it says. Invariant: it is never kept by anybody.

use weft_serve::{RequestKey, Server};

/// The media type of plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// An answer.
pub struct Answer {
    pub status: u16,
    pub media_type: &'static str,
    pub body: String,
}

impl Answer {
    pub fn new(status: u16, media_type: &'static str, body: impl Into<String>) -> Answer {
        Answer { status, media_type, body: body.into() }
    }

    /// Answers a request with it.
    pub fn send(&self, server: &Server, key: RequestKey) {
        let mut headers: Vec<(&[u8], &[u8])> =
            vec![(b"Content-Type", self.media_type.as_bytes()), (b"Cache-Control", b"no-store")];
        match self.status {
            401 => headers.push((b"WWW-Authenticate", b"Bearer")),
            405 => headers.push((b"Allow", b"GET, HEAD")),
            503 => headers.push((b"Retry-After", b"1")),
            _ => {}
        }
        // Gone means that no client waits for the self.
        let _ = server.respond(key, self.status, &headers, self.body.as_bytes());
    }
}
