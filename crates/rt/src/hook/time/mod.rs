//! Time: sleeping (`sleep`), and libc's forms of a time (`timespec`).
//!
//! Deadlines are exact nanoseconds.

pub mod sleep;
pub mod timespec;
