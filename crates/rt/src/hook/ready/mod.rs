//! Waiting for readiness itself: `poll`, `select`, and an event loop's `either`.
//!
//! Outside a coroutine (`call` is `None`) each is the plain system call.

mod either;
pub mod poll;
pub mod select;
