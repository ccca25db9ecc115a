//! PHP instances: many requests in one process, each with PHP to itself, interleaved at every wait.
//!
//! Each test runs in a process of its own (one engine per process): the test starts itself again with its own name.

mod common;
mod failures;
mod isolation;
mod memory;
mod opcache;
mod outside;
mod pool;
mod waiting;
