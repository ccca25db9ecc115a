//! Child processes: what a coroutine starts, what the child inherits, and how its end is awaited.
//!
//! - `owner`: the family of each descriptor; `apart`: whether families are kept apart; `beginning`: what all families share.
//! - `fork`: making a child; `forked`: the child's first steps; `nothing`: the replacement for foreign descriptors;
//!   `gate`: children that still hold copies of foreign descriptors.
//! - `spawn`: popen and system; `posix_spawn`: the programs that PHP (since 8.3) and libraries start; `tree`: ending a
//!   child with its descendants. `signals`: those that a child finds with their default actions.
//! - `wait`: waitpid and its relatives; `children`: the family of each child, and the reaping of abandoned ones.

pub mod apart;
pub mod beginning;
pub mod children;
pub mod fork;
pub mod forked;
pub mod gate;
pub mod nothing;
pub mod owner;
pub mod posix_spawn;
pub mod signals;
pub mod spawn;
pub mod tree;
pub mod wait;

pub use beginning::keep_families_apart;
pub(crate) use children::{ended as child_ended, job_ended};
pub(crate) use forked::end_forked_child;
pub use forked::{on_forked_child_begin, on_forked_child_end};
pub use signals::signals_are_own;
