//! Hooks of kind *ready*: try without blocking, and when the descriptor is not ready, park until it is.
//!
//! Outside a coroutine (`call` is `None`) each is the plain system call. In non-blocking mode nothing waits. Partial
//! results are continued exactly where the blocking call would go on by itself.

pub mod connect;
mod either;
pub mod masked;
pub mod poll;
pub mod receive;
pub mod select;
pub mod send;
pub mod vectors;
