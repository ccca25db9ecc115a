//! Time: sleeping (`sleep`), and libc's time structures (`timespec`).
//!
//! Deadlines are exact nanoseconds.

pub mod sleep;
pub mod timespec;
