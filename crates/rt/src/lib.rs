//! weft's runtime: one thread, one reactor, many coroutines.
//!
//! It knows file descriptors, deadlines and coroutines. It must not know PHP (it names no zval, includes no Zend header)
//! nor HTTP. Everything that waits goes through [`Runtime::park`], everything that ends a wait through
//! [`Runtime::wake`].
//!
//! # Layout, in reading order
//!
//! - [`clock`]: nanoseconds since boot. [`memory`]: the memory of this process. [`counter`]: numbers that others read.
//! - [`wait`]: the vocabulary of waits. `family`: which coroutines share descriptors and children.
//! - [`coroutine`]: what a coroutine is to the scheduler, and the [`Switch`] that gives it the processor.
//! - [`runtime`]: the scheduler; below it the loop, the start of jobs and their queue; its limits in `scheduler_limits`.
//! - [`park`]: the only way to suspend. [`waits`]: how often and how long. `overview`: the live coroutines.
//! - [`timers`], [`fds`], [`reactor`]: waits for a time, waits for a descriptor, and the kernel mechanism.
//! - [`offload`]: threads for calls that cannot be made ready-based.
//! - [`account`]: what jobs are charged together. [`record`]: what one job has done with its time. [`lag`]: for how long the loop
//!   was busy. [`blocking`]: where calls have blocked it.
//! - [`watch`]: the thread that notices a coroutine that holds the loop. [`held`]: who acts meanwhile; [`ledger`]: what it may take.
//!   [`urgency`]: how soon the kernel lets the loop run beside others that compute.
//! - [`hook`]: the libc symbols this executable provides in place of libc's.
//!
//! # Invariants
//!
//! - One [`Runtime`] per process, used by the one thread that made it; other threads only reach [`offload`]'s queues.
//! - No borrow is held across a switch: `RefCell` guards end before `Switch::enter` and `Switch::leave` are called.
#![deny(unsafe_code)]

pub mod account;
mod behind;
pub mod blocking;
mod board;
pub mod clock;
pub mod contexts;
pub mod coroutine;
pub mod counter;
pub mod datagrams;
mod family;
pub mod fds;
pub mod held;
pub mod hook;
pub mod lag;
pub mod ledger;
pub mod memory;
pub mod offload;
mod overview;
pub mod park;
pub mod reactor;
pub mod record;
pub mod runtime;
mod scheduler_limits;
mod stopwatch;
mod thread_clock;
mod ticker;
pub mod timers;
pub mod urgency;
mod usual;
pub mod wait;
pub mod waits;
pub mod watch;

pub use account::Account;
pub use clock::{MILLISECOND, Nanos, SECOND};
pub use coroutine::{Context, Footprint, Job, Left, Switch};
pub use overview::{Stacked, Standing};
pub use reactor::Readiness;
pub use record::{Detail, ListedWait, Record, SingleWait, Spent, Waited};
pub use runtime::{Driver, Runtime, Spawn, Stats};
pub use scheduler_limits::SchedulerLimits;
pub use wait::{CoroutineId, Wait, Wake};
pub use waits::{WaitKind, Waits};
