//! WebSocket (RFC 6455), the server's side: the handshake, and frames to messages and back.
//!
//! The frames are read here and not by tungstenite, which owns its stream and its buffers: weft's transport owns both, and
//! a peer must not be able to make the server allocate what it has only announced. SHA-1, base64 and deflate are from
//! libraries.
//!
//! ```text
//!   head  -> Handshake::read -> key, protocols, origin -> Handshake::accept -> 101
//!   bytes -> Decoder::decode -> Received::{Message, Ping, Pong, Close}, or a Failure with its close code
//!   message -> frame -> bytes
//!   Deflate::negotiate; then Received::Compressed -> Inflater -> message, and message -> Deflater -> compressed_frame
//! ```
//!
//! Must not know sockets, time or who reads the messages. Invariant: as everywhere in this crate, the outcome depends on
//! the bytes alone, never on how they were split over reads; and a decoder keeps no more than `message_bytes_max` bytes
//! of a message, and 125 of a control frame.

mod close;
mod decoder;
mod deflate;
mod frame;
mod handshake;

pub use close::{CloseCode, REASON_BYTES_MAX};
pub use decoder::{Decoder, Failure, Received};
pub use deflate::{Deflate, Deflater, Inflater};
pub use frame::{Kind, close_frame, compressed_frame, frame, ping_frame, pong_frame, write_frame};
pub use handshake::{Handshake, VERSION, is_asked, is_of_host};
