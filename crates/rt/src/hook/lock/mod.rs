//! Locks: of files (`file`; `brief` and `holder` for those of shared memory), of C libraries (`mutex`, `held`,
//! `condition`) and of System V (`sysv`).
//!
//! `contend` is how they wait.

pub mod brief;
pub mod condition;
pub mod contend;
pub mod file;
pub mod held;
pub mod holder;
pub mod mutex;
pub mod sysv;

pub use brief::{RecordLock, may_be_half_written, on_brief_locks, on_record_lock};
