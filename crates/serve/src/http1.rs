//! The connection protocol HTTP/1.1: from a transport's bytes to requests, one at a time, and back.
//!
//! Must not know what answers a request. Invariant: a connection has at most one stream, so answers keep their order.

pub(crate) mod advance;
pub(crate) mod input;
pub(crate) mod linger;
pub(crate) mod own_lines;
pub(crate) mod reply;
pub(crate) mod wire;
