//! Waiting for readiness itself: `poll`, `select`, and `either` for an event loop.
//!
//! Outside a coroutine (`call` is `None`) each is the plain system call.

mod either;
pub mod poll;
pub mod select;
