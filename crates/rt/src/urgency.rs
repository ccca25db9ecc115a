//! How soon the kernel lets a thread run when something wakes it, while others compute on its processor.
//!
//! Since Linux 6.12 a thread may ask for a slice of its own (sched_setattr(2), `sched_runtime` of SCHED_OTHER). One that is woken
//! and asks for less at a time than who runs takes over at once; with the same slice it waits until that one's has ended, some
//! milliseconds with several of them (kernel/sched/fair.c, `check_preempt_wakeup_fair`). Its share of the processor stays the same.
//! Older kernels ignore the request; there who has slept goes first anyway.
//!
//! It must not know why others compute. Invariant: the thread asks for a short slice while others compute and it does not itself:
//! then it would only be exchanged more often.

#![allow(unsafe_code)]

use std::sync::{Mutex, PoisonError};

/// The shortest slice that the kernel grants.
const SHORT_NS: u64 = 100_000;
/// The kernel's own.
const USUAL: u64 = 0;

/// What one thread asks for.
#[derive(Debug)]
pub struct Urgency {
    thread: libc::pid_t,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    others_compute: bool,
    is_held: bool,
    is_short: bool,
}

impl Urgency {
    /// That of the calling thread.
    pub fn of_this_thread() -> Urgency {
        Urgency { thread: rustix::thread::gettid().as_raw_nonzero().get(), state: Mutex::default() }
    }

    /// Whether others compute on this machine.
    pub fn set_others_compute(&self, they_do: bool) {
        self.change(|state| state.others_compute = they_do);
    }

    /// Whether one computation holds the thread. For another thread.
    pub fn set_held(&self, it_is: bool) {
        self.change(|state| state.is_held = it_is);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let is_short = state.others_compute && !state.is_held;
        if is_short != std::mem::replace(&mut state.is_short, is_short) {
            ask_for(self.thread, if is_short { SHORT_NS } else { USUAL });
        }
    }
}

/// Asks for another slice and leaves all else as it is. A kernel that refuses, or a sandbox, changes nothing.
fn ask_for(thread: libc::pid_t, slice_ns: u64) {
    if let Some(mut attributes) =
        attributes(thread).filter(|now| now.sched_policy == libc::SCHED_OTHER as u32)
    {
        attributes.sched_runtime = slice_ns;
        // SAFETY: the attributes are live for the call, and begin with their size.
        unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attributes, 0) };
    }
}

fn attributes(thread: libc::pid_t) -> Option<libc::sched_attr> {
    const SIZE: u32 = size_of::<libc::sched_attr>() as u32;
    // SAFETY: zero is a value of each of its numbers.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the attributes are a live place for so many bytes.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attributes, SIZE, 0) };
    (result == 0).then_some(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_thread_that_waits_beside_others_that_compute_asks_for_a_short_slice() {
        let urgency = Urgency::of_this_thread();
        let now = || attributes(urgency.thread).unwrap();
        let before = now();
        let is_told = before.sched_runtime != 0; // since Linux 6.12
        let changes: [(&dyn Fn(), bool); 6] = [
            (&|| urgency.set_held(true), false),
            (&|| urgency.set_others_compute(true), false),
            (&|| urgency.set_held(false), true),
            (&|| urgency.set_held(true), false),
            (&|| urgency.set_held(false), true),
            (&|| urgency.set_others_compute(false), false),
        ];
        for (change, is_short) in changes {
            change();
            let expected = if is_short && is_told { SHORT_NS } else { before.sched_runtime };
            assert_eq!(now().sched_runtime, expected);
            assert_eq!(urgency.state.lock().unwrap().is_short, is_short);
            assert_eq!((now().sched_policy, now().sched_nice), (before.sched_policy, before.sched_nice));
        }
    }
}
