//! The harness of the black-box tests: it starts the real binary, exchanges bytes with it, and leaves nothing behind.
//!
//! Must not know the product's crates: the tests cover what an operator gets. Invariant: everything that a test starts
//! ends when it goes out of scope, and a test waits for a condition with a deadline, never for a fixed time.

pub mod browser;
pub mod client;
pub mod command;
pub mod compare;
pub mod crowd;
pub mod events;
pub mod expectation;
pub mod line;
pub mod modes;
pub mod network;
pub mod php;
pub mod process;
pub mod response;
pub mod server;
pub mod services;
pub mod terminal;
pub mod visitor;
pub mod wait;
pub mod websocket;

pub use client::Client;
pub use command::{Output, weft};
pub use modes::in_each_mode;
pub use response::Response;
pub use server::{Running, Server};
pub use wait::{PATIENCE, until};
