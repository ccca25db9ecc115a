//! Signals whose handlers PHP code installs: they interrupt waits as the kernel's do, and wake the loop.
//!
//! A handler is installed through a trampoline, which notes the signal and makes the loop's eventfd readable, so that a
//! signal that comes just before the loop waits is not missed. Which wait does it interrupt? In a process of many threads
//! it would be one thread's; here it is the wait of the coroutine that installed the handler: everybody else's `sleep` goes
//! on. It must not know what a handler does, nor that there is PHP behind it.
//!
//! Invariants: the trampoline is async-signal-safe: atomics, one write(2), the handler. Signals that report a fault of the
//! running instruction, and PHP's execution timer, are installed as they are.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use libc::{c_int, c_void, sigaction as Sigaction, sighandler_t, siginfo_t, sigset_t};

use super::call::{Call, errno, set_errno};
use super::deferred;
use super::raw;
use super::real::real;
use super::symbols::Symbol;
use crate::Wait;
use crate::coroutine::State;
use crate::{CoroutineId, Readiness, Runtime};

/// The kernel's signals are 1 to 64 (signal(7)).
pub(super) const SIGNALS: usize = 65;

/// Faults of the instruction that runs, and the timer of `max_execution_time`: no wait is interrupted by them.
const UNTOUCHED: [c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGPROF,
];

/// One signal's handler, as its installer gave it.
struct Handler {
    address: AtomicUsize,
    flags: AtomicI32,
    /// The coroutine that installed it, packed; 0 for none.
    owner: AtomicU64,
}

static HANDLERS: [Handler; SIGNALS] =
    [const { Handler { address: AtomicUsize::new(0), flags: AtomicI32::new(0), owner: AtomicU64::new(0) } };
        SIGNALS];

/// Signals that came since the loop looked: bit `n - 1` for signal `n`.
static ARRIVED: AtomicU64 = AtomicU64::new(0);
/// Signals whose handler a coroutine installed: while it is 0, a wait is not noted anywhere.
static OWNED: AtomicU64 = AtomicU64::new(0);
/// The eventfd that wakes the loop; -1 without one.
static WAKER: AtomicI32 = AtomicI32::new(-1);
/// The thread that runs the loop, and with it all handlers; 0 without a loop.
static LOOP_THREAD: AtomicI32 = AtomicI32::new(0);
/// Signals that were blocked when the runtime started: they are the server's.
static RESERVED: AtomicU64 = AtomicU64::new(0);

pub(super) fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Which interruptions end a wait with `EINTR` (signal(7), "Interruption of system calls").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interruptible {
    /// None: the call waits on in any case.
    Never,
    /// Those by handlers installed without `SA_RESTART`.
    UnlessRestarted,
    /// All.
    Always,
}

/// What signal(7) says of this function. `timed`: its socket has a timeout.
pub fn class(symbol: Symbol, timed: bool) -> Interruptible {
    use Symbol::*;
    match symbol {
        sleep | usleep | nanosleep | clock_nanosleep | poll | ppoll | __poll_chk | __ppoll_chk
        | epoll_wait | epoll_pwait | select | pselect | semop | semtimedop | msgsnd | msgrcv
        | sigtimedwait | sigwaitinfo => Interruptible::Always,
        recv | recvfrom | recvmsg | read | readv | __recv_chk | __recvfrom_chk | __read_chk | send
        | sendto | sendmsg | write | writev | sendfile | sendfile64 | connect | accept | accept4 => {
            match timed {
                true => Interruptible::Always,
                false => Interruptible::UnlessRestarted,
            }
        }
        flock | fcntl | fcntl64 | lockf | lockf64 | wait | wait3 | wait4 | waitpid | waitid | sem_wait => {
            Interruptible::UnlessRestarted
        }
        _ => Interruptible::Never,
    }
}

thread_local! {
    /// The waits in hooked calls of coroutines that installed a handler: at most as many as there are signals.
    static WAITS: RefCell<HashMap<CoroutineId, Interruptible>> = RefCell::default();
    static PENDING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

pub(super) fn pack(id: CoroutineId) -> u64 {
    u64::from(id.index) << 32 | u64::from(id.generation)
}

pub(super) fn owner(signal: c_int) -> Option<CoroutineId> {
    let word = HANDLERS[signal as usize].owner.load(Ordering::Relaxed);
    (word != 0).then_some(CoroutineId { index: (word >> 32) as u32, generation: word as u32 })
}

pub(super) fn signals(set: u64) -> impl Iterator<Item = c_int> {
    (1..SIGNALS as c_int).filter(move |&signal| set & bit(signal) != 0)
}

/// Notes what may interrupt the wait that `call` is about to begin. Most processes have no such handler: one load.
#[inline]
pub fn during<T>(call: Call, interruptible: Interruptible, wait: impl FnOnce() -> T) -> T {
    let owned = OWNED.load(Ordering::Relaxed);
    if owned == 0 {
        return wait();
    }
    let Some(id) = call.runtime.current() else { return wait() };
    let own = signals(owned).filter(|&signal| owner(signal) == Some(id)).map(bit).sum::<u64>();
    if own == 0 {
        return wait();
    }
    // What came while it ran was no interruption.
    if ARRIVED.fetch_and(!own, Ordering::Relaxed) & own != 0 {
        PENDING.set(true);
    }
    WAITS.with_borrow_mut(|waits| waits.insert(id, interruptible));
    let result = wait();
    WAITS.with_borrow_mut(|waits| waits.remove(&id));
    result
}

/// Whether a coroutine has installed a handler that is still there: a signal may then end waits that nothing else can.
pub fn has_handlers() -> bool {
    OWNED.load(Ordering::Relaxed) != 0
}

/// Called by the loop when it has waited: interrupts the waits of coroutines whose signals came meanwhile.
pub(crate) fn deliver(runtime: &Runtime) {
    if ARRIVED.load(Ordering::Relaxed) == 0 {
        return;
    }
    PENDING.set(true);
    for signal in signals(ARRIVED.swap(0, Ordering::Relaxed)) {
        let Some(id) = owner(signal) else { continue };
        let restart = HANDLERS[signal as usize].flags.load(Ordering::Relaxed) & libc::SA_RESTART != 0;
        let ends = match WAITS.with_borrow(|waits| waits.get(&id).copied()) {
            Some(Interruptible::Always) => true,
            Some(Interruptible::UnlessRestarted) => !restart,
            Some(Interruptible::Never) | None => false,
        };
        if ends && let Some(wait) = present_wait(runtime, id) {
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

/// Called by the loop when it has nothing left to run: a handler's work may wait for a coroutine to do it, and all are
/// parked. A process with one coroutine, which is inside a call of libc, is as it would be without coroutines: there the
/// work waits for that call to return, and so it does here.
pub(crate) fn before_idle(runtime: &Runtime) {
    if !PENDING.replace(false) {
        return;
    }
    let alone = runtime.stats.live.get() == 1 && WAITS.with_borrow(|waits| !waits.is_empty());
    if !alone {
        runtime.switch.signalled();
    }
}

/// Says which descriptor wakes the loop, and notes which signals are the server's. Once, by the runtime's start.
pub(crate) fn start(waker: c_int) {
    RESERVED.store(blocked_signals(), Ordering::Relaxed);
    WAKER.store(waker, Ordering::Relaxed);
    // SAFETY: it takes nothing.
    LOOP_THREAD.store(unsafe { raw::syscall!(SYS_gettid) } as c_int, Ordering::Relaxed);
}

/// A forked child has no loop.
pub(crate) fn forget() {
    WAKER.store(-1, Ordering::Relaxed);
    LOOP_THREAD.store(0, Ordering::Relaxed);
    OWNED.store(0, Ordering::Relaxed);
}

/// The signals this thread blocks.
pub fn blocked_signals() -> u64 {
    let mut set = 0u64;
    // SAFETY: the kernel's signal set is 64 bits; a null set only reads.
    unsafe { raw::syscall!(SYS_rt_sigprocmask, libc::SIG_BLOCK, 0, &raw mut set, raw::SIGSET_BYTES) };
    set
}

/// A call's signal mask, with the server's own signals added: they must not reach a handler of PHP's.
///
/// # Safety
/// `mask` must be live.
pub unsafe fn mask_of(mask: *const sigset_t) -> u64 {
    // SAFETY: the kernel's signal set is the first 64 bits of glibc's.
    let mask = unsafe { mask.cast::<u64>().read_unaligned() };
    mask | RESERVED.load(Ordering::Relaxed)
}

/// A library's thread does not block signals: the kernel may choose it. Then the signal goes on to the loop's thread, with
/// all it tells but the code: the kernel lets threads send `SI_QUEUE` only (rt_sigqueueinfo(2)).
unsafe fn is_passed_on(signal: c_int, info: *mut siginfo_t) -> bool {
    let wanted = LOOP_THREAD.load(Ordering::Relaxed);
    // SAFETY: they take numbers and the siginfo that the kernel made for this handler; both calls are async-signal-safe.
    unsafe {
        if wanted == 0 || raw::syscall!(SYS_gettid) as c_int == wanted {
            return false;
        }
        (*info).si_code = libc::SI_QUEUE;
        raw::syscall!(SYS_rt_tgsigqueueinfo, raw::syscall!(SYS_getpid), wanted, signal, info) == 0
    }
}

unsafe extern "C" fn trampoline(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let interrupted = errno();
    // SAFETY: as the kernel calls it.
    if unsafe { is_passed_on(signal, info) } {
        return set_errno(interrupted);
    }
    if ARRIVED.fetch_or(bit(signal), Ordering::Relaxed) == 0 {
        let waker = WAKER.load(Ordering::Relaxed);
        if waker >= 0 {
            let one = 1u64;
            // SAFETY: eight live bytes; write(2) is async-signal-safe.
            unsafe { raw::write(waker, (&raw const one).cast(), size_of_val(&one)) };
        }
    }
    set_errno(interrupted);
    // SAFETY: as the kernel calls it.
    unsafe {
        if !deferred::postpone(signal, info) {
            call_handler(signal, info, context);
        }
    }
}

/// Calls the handler as the kernel would.
///
/// # Safety
/// `info` and `context` must be what a handler with the flags of this one expects.
pub(super) unsafe fn call_handler(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let handler = &HANDLERS[signal as usize];
    let address = handler.address.load(Ordering::Relaxed);
    if address == libc::SIG_DFL || address == libc::SIG_IGN {
        return; // being replaced at this moment
    }
    // SAFETY: the address is a handler of the form its flags say (sigaction(2)).
    unsafe {
        if handler.flags.load(Ordering::Relaxed) & libc::SA_SIGINFO != 0 {
            let handle: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(address);
            handle(signal, info, context);
        } else {
            let handle: extern "C" fn(c_int) = std::mem::transmute(address);
            handle(signal);
        }
    }
}

pub unsafe fn sigaction(
    call: Option<Call>,
    signal: c_int,
    new: *const Sigaction,
    old: *mut Sigaction,
) -> c_int {
    let real = real!(c"sigaction": fn(c_int, *const Sigaction, *mut Sigaction) -> c_int);
    if !(1..SIGNALS as c_int).contains(&signal) || UNTOUCHED.contains(&signal) {
        // SAFETY: by the caller's contract.
        return unsafe { real(signal, new, old) };
    }
    let handler = &HANDLERS[signal as usize];
    let before = (handler.address.load(Ordering::Relaxed), handler.flags.load(Ordering::Relaxed));
    // SAFETY: null or live by the caller's contract.
    let given = unsafe { new.as_ref() };
    let installs = given.filter(|new| new.sa_sigaction != libc::SIG_DFL && new.sa_sigaction != libc::SIG_IGN);
    let mut installed = installs.copied();
    if let Some(new) = &mut installed {
        handler.address.store(new.sa_sigaction, Ordering::Relaxed);
        handler.flags.store(new.sa_flags, Ordering::Relaxed);
        new.sa_sigaction = trampoline as *const () as sighandler_t;
        new.sa_flags |= libc::SA_SIGINFO;
    }
    // SAFETY: `installed` is live; all else by the caller's contract.
    let result = unsafe { real(signal, installed.as_ref().map_or(new, std::ptr::from_ref), old) };
    if result != 0 {
        handler.address.store(before.0, Ordering::Relaxed);
        handler.flags.store(before.1, Ordering::Relaxed);
        return result;
    }
    if given.is_some() {
        own(signal, installs.and(call).and_then(|call| call.runtime.current()));
    }
    // SAFETY: null or live by the caller's contract, and just written.
    if let Some(old) = unsafe { old.as_mut() }
        && old.sa_sigaction == trampoline as *const () as sighandler_t
    {
        old.sa_sigaction = before.0;
        old.sa_flags = old.sa_flags & !libc::SA_SIGINFO | before.1 & libc::SA_SIGINFO;
    }
    result
}

fn own(signal: c_int, id: Option<CoroutineId>) {
    HANDLERS[signal as usize].owner.store(id.map_or(0, pack), Ordering::Relaxed);
    match id {
        Some(id) => {
            deferred::runs(id);
            OWNED.fetch_or(bit(signal), Ordering::Relaxed)
        }
        None => OWNED.fetch_and(!bit(signal), Ordering::Relaxed),
    };
}

/// signal(2) as glibc has it: the handler stays, and system calls are restarted.
pub unsafe fn signal(call: Option<Call>, number: c_int, address: sighandler_t) -> sighandler_t {
    // SAFETY: the all-zero sigaction is valid storage.
    let (mut new, mut old): (Sigaction, Sigaction) = unsafe { std::mem::zeroed() };
    new.sa_sigaction = address;
    new.sa_flags = libc::SA_RESTART;
    // SAFETY: both are live.
    unsafe {
        libc::sigaddset(&raw mut new.sa_mask, number);
        if sigaction(call, number, &raw const new, &raw mut old) != 0 {
            return libc::SIG_ERR;
        }
    }
    old.sa_sigaction
}
