//! Locks: of files (`file`; `record` and `whole` know who holds one, `polling` who polls for one; `brief` and `holder`
//! are for those of shared memory), of C libraries (`mutex`, `held`, `condition`, `semaphore`) and of System V
//! (`sysv`).
//!
//! `contend` is how they wait.

pub mod brief;
pub mod condition;
pub mod contend;
pub mod file;
pub mod held;
pub mod holder;
pub mod mutex;
pub mod polling;
pub mod record;
pub mod resource;
pub mod seen;
pub mod semaphore;
pub mod sysv;
pub mod whole;

pub use brief::{RecordLock, may_be_half_written, on_brief_locks, on_record_lock};
pub(crate) use record::somebody_holds_up;
pub(crate) use seen::{comes_first, job_ended};
