//! The layout of the repository: who may depend on whom, who may know what, how long a file may be.

mod accepted;
mod borders;
mod circles;
mod files;
mod graph;
