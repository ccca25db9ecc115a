//! fork, and vfork as fork: what the parent remembers of the child.
//!
//! What happens in the child is in [`forked`].
#![allow(unsafe_code)]

use libc::pid_t;

use super::gate::Gate;
use super::{children, forked, owner};
use crate::Runtime;
use crate::family::NOBODY;
use crate::hook::call::Call;
use crate::hook::real::real;

pub unsafe fn fork(call: Option<Call>) -> pid_t {
    let real = real!(c"fork": fn() -> pid_t);
    let family = call.and_then(|call| call.runtime.family()).unwrap_or(NOBODY);
    let gate = if owner::others_hold_locks(family) { Gate::new() } else { None };
    // SAFETY: fork(2) asks nothing of the caller.
    let pid = unsafe { real() };
    match (pid, Runtime::get()) {
        (0, Some(runtime)) => forked::begins(runtime, family),
        (1.., Some(_)) => {
            children::started(call, pid);
            owner::inherited(family, true);
        }
        _ => (),
    }
    if let Some(gate) = gate {
        if pid > 0 { gate.keep() } else { gate.open() }
    }
    pid
}
