//! The connection protocol HTTP/2 (RFC 9113): one connection carries many streams, each a request of its own.
//!
//! The crate h2 has frames, HPACK, the windows and the states of streams. It is polled by hand: no runtime, no task; its
//! wakers write the slot that they stand for into a list (`bell.rs`), which the server reads at the end of a turn. It was
//! chosen over a protocol of our own on an HPACK library because everything that the bounds need can be set or driven from
//! outside: the windows are given back only when told so, sending asks for room first, heads have a limit while they are
//! decoded, CONTINUATION frames, resets before acceptance, resets for errors and small DATA frames are counted and end the
//! connection, and SETTINGS and PING are answered one at a time, so a peer that does not read the answers is not read.
//! What it does not limit is the rate of frames that cost the peer nothing: `Meter` does.
//!
//! Each stream has a place in the table as a connection has, with a [`Carried`](crate::transport::Carried) as its
//! transport. So the handler, deadlines, bodies and answers know nothing of frames. Must not know what answers a
//! request. Invariant: a connection has at most `http2_streams_max` streams, and what waits in it is bounded by the
//! windows, by [`SEND_BYTES_MAX`] per stream, and by what `pipe.rs` takes.

pub(crate) mod bell;
pub(crate) mod carrier;
pub(crate) mod carry;
pub(crate) mod pipe;
pub(crate) mod priority;
pub(crate) mod reply;

pub(crate) use weft_proto::http2::PREFACE;
/// As many of them as no other protocol begins with.
pub(crate) const PREFACE_BYTES_MIN: usize = 14;
/// Bytes of an answer that h2 holds for one stream.
pub(crate) const SEND_BYTES_MAX: usize = 32 * 1024;
/// Bytes of bodies that a peer may send on one connection before any of them is received.
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;
/// The same for one stream.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
