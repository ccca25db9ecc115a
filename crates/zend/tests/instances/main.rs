//! PHP instances: many requests in one process, each with PHP to itself, interleaved at every wait.
//!
//! Each test runs in a separate process (one engine per process): the test starts its own binary again with its
//! name.

mod common;
mod failures;
mod isolation;
mod memory;
mod opcache;
mod outside;
mod pool;
mod waiting;
