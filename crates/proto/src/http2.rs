//! What weft itself reads and writes of HTTP/2, beside the library that has its frames, HPACK, windows and streams.
//!
//! Must not know that library, connections, or who answers. Invariant: as in the rest of the crate, the outcome does not
//! depend on how the bytes were split.

mod head;
mod meter;

pub use head::{is_tunnel, lines, text};
pub use meter::Meter;

/// The first bytes of a connection that speaks HTTP/2 (RFC 9113 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
