//! HTTP/1.1, bytes in and messages out: RFC 9110 (semantics) and RFC 9112 (wire format), strictly; WebSocket (RFC 6455),
//! in `websocket.rs`; server-sent events, in `event_stream.rs`; messages in any other stream of bytes, in `framing.rs`; and
//! what weft reads of HTTP/2 itself, in `http2.rs`; W3C's traceparent, in `traceparent.rs`.
//!
//! This crate does no I/O, reads no clock, uses none of weft's other crates, and allocates nothing for a typical
//! request. The caller owns the buffers, the sockets and the time. This crate says what the bytes mean or, as a
//! [`Reject`], why they are refused and with which status.
//!
//! ```text
//!   bytes -> Head::parse -> method, target, fields, Framing -> Body -> body bytes, trailers
//!   status, fields, body length -> ResponseHead::encode -> bytes; write_chunk, write_last_chunk, write_interim
//! ```
//!
//! Strict means: a message that two HTTP implementations could read differently is refused, because such
//! differences let requests be smuggled past a proxy. [`Reject`] lists the rules, one constant each, with their
//! sections.
//!
//! Invariant: the outcome depends on the bytes alone, never on how they were split over reads.

#![forbid(unsafe_code)]

mod authority;
mod body;
mod bytes;
mod chunked;
mod coding;
mod conditional;
mod cookie;
mod date;
mod declared;
mod encode;
mod etag;
pub mod event_stream;
pub mod forwarded;
pub mod framing;
mod head;
pub mod http2;
mod proxied;
mod range;
mod reject;
mod repeated;
mod request_limits;
mod response;
mod span;
mod status;
mod traceparent;
pub mod websocket;

pub use authority::{Authority, split_authority};
pub use body::Body;
pub use chunked::{ChunkDecoder, Decoded};
pub use coding::Coding;
pub use conditional::{Conditions, Outcome, Validators};
pub use cookie::{Cookies, cookies};
pub use date::{DateCache, format_date, parse_date};
pub use encode::{ChunkPrefix, InvalidHeader, Part, write_chunk, write_interim, write_last_chunk};
pub use etag::EntityTag;
pub use head::{Framing, Head, Parse, TargetForm, Version};
pub use proxied::Proxied;
pub use range::{ByteRange, Ranges, parse_range, unsatisfied_range};
pub use reject::Reject;
pub use repeated::Repeated;
pub use request_limits::RequestLimits;
pub use response::{BodyLength, ResponseHead, Sent, SentBody};
pub use status::reason_phrase;
pub use traceparent::Traceparent;
