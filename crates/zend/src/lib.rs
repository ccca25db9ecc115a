//! weft's binding to Zend: the only crate that includes a Zend header.
//!
//! Zend itself is called from C (`c/`, read `coroutine.h` first): its errors leave by longjmp, which must not cross a
//! Rust frame. Rust starts and stops the engine, switches its contexts, and answers C's questions about requests.
//!
//! It knows coroutines (weft-rt) and PHP. It must not know HTTP connections: the [`Host`] knows what a request key
//! stands for. Nothing in its public API is unsafe.
//!
//! # Layout, in reading order
//!
//! - [`loaded`]: which libphp the loader has found; checked before anything else.
//! - [`relax`]: the calls of libphp and of extensions, made direct.
//! - [`engine`]: starts PHP, boots an application, runs a script, stops.
//! - [`fiber`]: the [`weft_rt::Switch`] within one PHP instance.
//! - `native`: the one below PHP, for classic mode.
//! - [`instance`]: the one between PHP instances, on top of it.
//! - [`host`]: PHP's questions to the server, as a trait and as the table of C symbols behind it.
//! - `websocket`: the rows about WebSockets; `stream`: those about streams and conversations, and `connections`: the trait
//!   behind them. `topic`: those about topics, and `topics`: the trait behind
//!   them. `slice`: bytes that C has.
//! - `lines`: which header lines reach PHP. `settings`: what a request's site sets.
//! - `schedule`: the scheduler's functions for C.
//! - [`abi`]: the numbers that Rust and C share. `sys`: the C functions.
#![deny(unsafe_code)]

pub mod abi;
mod connections;
pub mod engine;
pub mod fiber;
mod files;
pub mod host;
pub mod instance;
mod lines;
pub mod loaded;
pub mod memory_bound;
mod native;
#[cfg(target_arch = "x86_64")]
pub mod relax;
mod schedule;
mod settings;
mod slice;
mod stream;
mod sys;
mod topic;
mod topics;
mod websocket;

pub use abi::{Field, JobKind, LogLevel, SettingKind};
pub use connections::{Connections, Event};
pub use engine::{Engine, EngineError, Opcache, Options, ResidentScript, Script};
pub use fiber::{
    FiberSwitch, attempt_last_words, can_read_running_stack, code_function, code_location, crash_location,
    report_crashes, running_place, running_stack,
};
pub use host::{Host, RequestId, Slice};
pub use instance::{InstanceOptions, InstanceSwitch};
pub use loaded::LoadedPhp;
pub use native::NativeSwitch;
pub use topics::{EventStream, Publish, Subscribe, Topics};
