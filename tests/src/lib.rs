//! The harness of the black-box tests: starts the real binary, speaks to it in bytes, and leaves nothing behind.
//!
//! Must not know: the product's crates. What is tested is what an operator gets. Invariant: everything a test starts is
//! ended when it goes out of scope; a test waits for a condition with a deadline, never for time to pass.

pub mod browser;
pub mod client;
pub mod command;
pub mod process;
pub mod response;
pub mod server;
pub mod services;
pub mod wait;

pub use client::Client;
pub use command::{Output, weft};
pub use response::Response;
pub use server::{Running, Server};
pub use wait::{PATIENCE, until};
