//! Sockets and other streams: `connect`, `receive`, `send`, and `messages` for several at once; `drained` is what receiving
//! says of the next wait.
//!
//! Each call is first tried without blocking; if the descriptor is not ready, the coroutine parks until it is. Outside a
//! coroutine (`call` is `None`) each is the plain system call. A descriptor in non-blocking mode never waits. Partial
//! results are continued exactly where the blocking call would continue.

pub mod connect;
pub mod drained;
pub mod messages;
pub mod receive;
pub mod send;
pub mod timeout;
pub mod vectors;
