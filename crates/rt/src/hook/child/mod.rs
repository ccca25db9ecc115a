//! Child processes: what a coroutine starts, what the child has of it, and who waits for its end.
//!
//! - `owner`: whose a descriptor is; `apart`: whether that counts; `beginning`: what is everybody's.
//! - `fork`: a child is made; `forked`: what it is from its first moment on; `nothing`: what it has in place of others' descriptors;
//!   `gate`: children that have yet to let go of others' descriptors.
//! - `spawn`: popen and system; `tree`: a child with its own children.
//! - `wait`: waitpid and the like; `children`: whose each child is, and what becomes of those that nobody waits for.

pub mod apart;
pub mod beginning;
pub mod children;
pub mod fork;
pub mod forked;
pub mod gate;
pub mod nothing;
pub mod owner;
pub mod spawn;
pub mod tree;
pub mod wait;

pub use beginning::keep_families_apart;
pub(crate) use children::{ended as child_ended, job_ended};
pub(crate) use forked::end_forked_child;
pub use forked::{on_forked_child_begin, on_forked_child_end, signals_are_own};
