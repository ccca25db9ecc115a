//! WebSocket through the crate's public API: every rule, under every split of the input.

mod deflate;
mod frames;
mod handshake;
