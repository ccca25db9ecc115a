//! The layout of the repository: which crate may depend on which, which code may know what, and how long a file
//! may be.

mod accepted;
mod borders;
mod circles;
mod files;
mod graph;
mod numbers;
