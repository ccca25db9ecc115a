//! The waits that a signal interrupts, and what the loop does about them.
//!
//! In a process with many threads a signal interrupts the wait of one thread. Here it interrupts the wait of the coroutine
//! that installed the handler; all others sleep on. It must not know what a handler does, nor that PHP is behind it.
//! Invariant: a wait is recorded only while it lasts, and only if its coroutine has installed a handler.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

use libc::c_int;

use super::handlers::{ARRIVED, HANDLERS, OWNED, bit, owner, signals};
use crate::coroutine::State;
use crate::hook::names::Symbol;
use crate::{CoroutineId, Readiness, Runtime, Wait, Wake};

/// Which interruptions end a wait with `EINTR` (signal(7), "Interruption of system calls").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interruptible {
    /// None: the call continues to wait in any case.
    Never,
    /// Those by handlers installed without `SA_RESTART`.
    UnlessRestarted,
    /// All.
    Always,
}

/// The class of this function according to signal(7). `timed`: its socket has a time-out.
pub fn class(symbol: Symbol, timed: bool) -> Interruptible {
    use Symbol::*;
    match symbol {
        sleep | usleep | nanosleep | clock_nanosleep | poll | ppoll | __poll_chk | __ppoll_chk
        | epoll_wait | epoll_pwait | select | pselect | semop | semtimedop | msgsnd | msgrcv
        | sigtimedwait | sigwaitinfo => Interruptible::Always,
        recv | recvfrom | recvmsg | recvmmsg | read | readv | __recv_chk | __recvfrom_chk | __read_chk
        | send | sendto | sendmsg | sendmmsg | write | writev | sendfile | sendfile64 | connect | accept
        | accept4 => match timed {
            true => Interruptible::Always,
            false => Interruptible::UnlessRestarted,
        },
        flock | fcntl | fcntl64 | lockf | lockf64 | wait | wait3 | wait4 | waitpid | waitid | sem_wait
        | sem_timedwait | sem_clockwait => Interruptible::UnlessRestarted,
        _ => Interruptible::Never,
    }
}

thread_local! {
    /// The waits in hooked calls of coroutines that installed a handler: at most as many as there are signals.
    static WAITS: RefCell<HashMap<CoroutineId, Waiting>> = RefCell::default();
    /// The running coroutine's wait had ended by something else when the signal came.
    static MISSED: Cell<Option<CoroutineId>> = const { Cell::new(None) };
    static PENDING: Cell<bool> = const { Cell::new(false) };
}

struct Waiting {
    interruptible: Interruptible,
    missed: bool,
}

impl Interruptible {
    /// Whether this signal ends such a wait.
    fn is_ended_by(self, signal: c_int) -> bool {
        match self {
            Interruptible::Always => true,
            Interruptible::UnlessRestarted => {
                HANDLERS[signal as usize].flags.load(Ordering::Relaxed) & libc::SA_RESTART == 0
            }
            Interruptible::Never => false,
        }
    }
}

/// Records what may interrupt the wait that the running coroutine is about to begin. `again`: its call has waited before,
/// and a signal that came meanwhile interrupts the call as well. Most processes have no such handler: one load.
#[inline]
pub fn during(
    runtime: &Runtime,
    interruptible: Interruptible,
    again: bool,
    wait: impl FnOnce() -> Wake,
) -> Wake {
    let owned = OWNED.load(Ordering::Relaxed);
    if owned == 0 {
        return wait();
    }
    let Some(id) = runtime.current() else { return wait() };
    let own = signals(owned).filter(|&signal| owner(signal) == Some(id)).map(bit).sum::<u64>();
    if own == 0 {
        return wait();
    }
    let arrived = ARRIVED.fetch_and(!own, Ordering::Relaxed) & own;
    let missed = MISSED.take() == Some(id);
    if arrived != 0 {
        PENDING.set(true);
    }
    // Otherwise it arrived while the coroutine ran, and interrupted no call.
    if again && (missed || signals(arrived).any(|signal| interruptible.is_ended_by(signal))) {
        return Wake::Ready(Readiness::INTERRUPTED);
    }
    WAITS.with_borrow_mut(|waits| waits.insert(id, Waiting { interruptible, missed: false }));
    let wake = wait();
    let waited = WAITS.with_borrow_mut(|waits| waits.remove(&id));
    MISSED.set(waited.filter(|waited| waited.missed).map(|_| id));
    wake
}

/// Called by the loop after it has waited: interrupts the waits of coroutines whose signals arrived meanwhile.
pub(crate) fn deliver(runtime: &Runtime) {
    if ARRIVED.load(Ordering::Relaxed) == 0 {
        return;
    }
    PENDING.set(true);
    for signal in signals(ARRIVED.swap(0, Ordering::Relaxed)) {
        let Some(id) = owner(signal) else { continue };
        let ended = WAITS.with_borrow_mut(|waits| {
            let waiting = waits.get_mut(&id).filter(|waiting| waiting.interruptible.is_ended_by(signal))?;
            let wait = present_wait(runtime, id);
            waiting.missed = wait.is_none();
            wait
        });
        if let Some(wait) = ended {
            runtime.wake(wait, Readiness::INTERRUPTED);
        }
    }
}

fn present_wait(runtime: &Runtime, id: CoroutineId) -> Option<Wait> {
    let coroutines = runtime.coroutines.borrow();
    let coroutine = coroutines.get(id.index as usize)?;
    let parked = coroutine.generation == id.generation && coroutine.state == State::Parked;
    parked.then_some(Wait { coroutine: id, number: coroutine.wait })
}

/// Called by the loop when it has nothing left to run: a handler's work may need a coroutine, and all are parked. A
/// process with one coroutine that is inside a libc call behaves as it would without coroutines: the work waits for
/// that call to return.
pub(crate) fn before_idle(runtime: &Runtime) {
    if !PENDING.replace(false) {
        return;
    }
    let alone = runtime.stats.live.get() == 1 && WAITS.with_borrow(|waits| !waits.is_empty());
    if !alone {
        runtime.switch.signalled();
    }
}
