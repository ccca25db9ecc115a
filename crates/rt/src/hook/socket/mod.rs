//! Sockets, and what reads and writes as they do: `connect`, `receive`, `send`.
//!
//! Each is tried without blocking, and when the descriptor is not ready, the coroutine parks until it is. Outside a coroutine (`call` is
//! `None`) each is the plain system call. In non-blocking mode nothing waits. Partial results are continued exactly where the blocking
//! call would go on by itself.

pub mod connect;
pub mod receive;
pub mod send;
pub mod timeout;
pub mod vectors;
