//! The scheduler's functions for C: park, wake, start tasks, interrupt. A table of C symbols that call weft-rt.
//!
//! It must not know what waits or why. As in [`crate::host`], a row returns plain values and calls no function of Zend
//! except the switch; some rows park the calling coroutine, and say so. Without a runtime (while an application boots)
//! nothing can be done: the rows then return 0 or false.
#![allow(unsafe_code)]

use weft_rt::timers::TimerKey;
use weft_rt::{Context, CoroutineId, Job, Readiness, Runtime, Wake, clock};

use crate::abi::{NEVER, WaitEnd};

/// A coroutine as one word, never 0: generations count from 1.
fn word_of(id: CoroutineId) -> u64 {
    u64::from(id.index) << 32 | u64::from(id.generation)
}

fn coroutine_of(word: u64) -> CoroutineId {
    CoroutineId { index: (word >> 32) as u32, generation: word as u32 }
}

fn with<T>(otherwise: T, ask: impl FnOnce(&'static Runtime) -> T) -> T {
    Runtime::get().map_or(otherwise, ask)
}

/// Opens a wait of the running coroutine: returns a word with which any code can end it. 0: waiting is not
/// possible here.
#[unsafe(no_mangle)]
extern "C" fn weft_host_wait_begin() -> u64 {
    with(0, |runtime| if runtime.current().is_some() { runtime.begin_wait().word() } else { 0 })
}

/// How a wait has ended, as C knows it; `None`: it was not the one that is open.
fn end_of(wake: Option<Wake>) -> WaitEnd {
    match wake {
        Some(Wake::Ready(_)) => WaitEnd::Woken,
        Some(Wake::TimedOut) => WaitEnd::TimedOut,
        Some(Wake::Cancelled) => WaitEnd::Cancelled,
        None => WaitEnd::NotThisOne,
    }
}

/// Parks the running coroutine until its wait is ended or the deadline ([`weft_host_now`]) has passed.
#[unsafe(no_mangle)]
extern "C" fn weft_host_wait(word: u64, deadline: u64) -> u32 {
    let end = with(WaitEnd::NotThisOne, |runtime| {
        end_of(runtime.park_word(word, (deadline != NEVER).then_some(deadline)))
    });
    end as u32
}

/// Like [`weft_host_wait`], and until a descriptor is ready, too: `revents` say which.
#[unsafe(no_mangle)]
extern "C" fn weft_host_wait_on(word: u64, fds: *mut libc::pollfd, count: usize, deadline: u64) -> u32 {
    // SAFETY: C passes its own array with this many entries, which no other code touches until this returns.
    let fds = if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(fds, count) } };
    let end = with(WaitEnd::NotThisOne, |runtime| {
        end_of(runtime.park_word_on(word, fds, (deadline != NEVER).then_some(deadline)))
    });
    end as u32
}

/// Ends a wait. `false`: it has already ended.
#[unsafe(no_mangle)]
extern "C" fn weft_host_wake(word: u64) -> bool {
    with(false, |runtime| runtime.wake_word(word, Readiness::default()))
}

/// Lets all other ready coroutines run first.
#[unsafe(no_mangle)]
extern "C" fn weft_host_yield() {
    with((), |runtime| {
        runtime.current().map(|_| runtime.yield_now());
    });
}

/// Whether the slice of the running coroutine has ended. For a handler of signals on the loop's thread.
#[unsafe(no_mangle)]
extern "C" fn weft_host_slice_has_ended() -> bool {
    with(false, Runtime::slice_has_ended)
}

/// The slice of the running coroutine has ended: lets others run. In PHP code.
#[unsafe(no_mangle)]
extern "C" fn weft_host_give_way() {
    with((), Runtime::give_way);
}

/// Whether a context waits for something, not only for its turn.
#[unsafe(no_mangle)]
extern "C" fn weft_host_is_parked(context: *const std::ffi::c_void) -> bool {
    with(false, |runtime| runtime.is_parked(Context(context as usize)))
}

/// Whether the running coroutine has run for too long. If so, all its waits end from now on.
#[unsafe(no_mangle)]
extern "C" fn weft_host_is_late() -> bool {
    with(false, Runtime::is_late)
}

/// The running coroutine's request has ended, and its script goes on: what it was cancelled for is over.
#[unsafe(no_mangle)]
extern "C" fn weft_host_begin_anew() {
    with((), Runtime::begin_anew);
}

/// Gives a task to another coroutine. `false`: there are too many, or there is no runtime.
#[unsafe(no_mangle)]
extern "C" fn weft_host_spawn(kind: u32, argument: u64) -> bool {
    with(false, |runtime| runtime.spawn_task(Job { kind, argument, pool: 0 }))
}

/// The running coroutine; 0 in the loop.
#[unsafe(no_mangle)]
extern "C" fn weft_host_self() -> u64 {
    with(0, |runtime| runtime.current().map_or(0, word_of))
}

/// From here to [`weft_host_step_in`] the hooks count the code as outside of any coroutine: calls are plain, and
/// nothing parks.
#[unsafe(no_mangle)]
extern "C" fn weft_host_step_out() -> u64 {
    with(0, |runtime| runtime.step_out().map_or(0, word_of))
}

/// Ends [`weft_host_step_out`]; its argument is what that returned.
#[unsafe(no_mangle)]
extern "C" fn weft_host_step_in(coroutine: u64) {
    if coroutine != 0 {
        with((), |runtime| runtime.step_in(coroutine_of(coroutine)));
    }
}

/// Interrupts a coroutine: its current or next wait ends as cancelled.
#[unsafe(no_mangle)]
extern "C" fn weft_host_interrupt(coroutine: u64) -> bool {
    with(false, |runtime| runtime.interrupt(coroutine_of(coroutine)))
}

/// Withdraws an interruption of the running coroutine that no wait has met.
#[unsafe(no_mangle)]
extern "C" fn weft_host_interrupt_forget() {
    with((), Runtime::forget_interrupt);
}

/// Cancels a coroutine: all its waits end from now on.
#[unsafe(no_mangle)]
extern "C" fn weft_host_cancel(coroutine: u64) -> bool {
    with(false, |runtime| runtime.cancel(coroutine_of(coroutine)))
}

/// A timer that interrupts, as C stores it.
#[repr(C)]
struct Timer {
    at: u64,
    sequence: u64,
}

/// Interrupts the running coroutine at a time.
#[unsafe(no_mangle)]
extern "C" fn weft_host_interrupt_at(at: u64) -> Timer {
    let armed = with(None, |runtime| Some(runtime.interrupt_at(at, runtime.current()?)));
    let (at, sequence): TimerKey = armed.unwrap_or((at, 0));
    Timer { at, sequence }
}

/// Disarms a timer. `false`: it has fired.
#[unsafe(no_mangle)]
extern "C" fn weft_host_disarm(timer: Timer) -> bool {
    with(false, |runtime| runtime.disarm((timer.at, timer.sequence)))
}

/// When a coroutine began, on the clock of deadlines; 0 if it has ended.
#[unsafe(no_mangle)]
extern "C" fn weft_host_since(coroutine: u64) -> u64 {
    with(0, |runtime| runtime.since(coroutine_of(coroutine)).unwrap_or(0))
}

/// Ends a connection that is kept for a later user, if a wait for it was cut short.
#[unsafe(no_mangle)]
extern "C" fn weft_host_end_if_cut_short(fd: std::ffi::c_int) {
    weft_rt::hook::end_if_cut_short(fd);
}

/// Whether the memory that opcache shares may be half written: this process is writing to it, or another ended while it
/// did. A signal handler may ask.
#[unsafe(no_mangle)]
extern "C" fn weft_host_may_be_half_written() -> bool {
    weft_rt::hook::may_be_half_written(std::process::id())
}

/// The clock of deadlines: nanoseconds that only go forward.
#[unsafe(no_mangle)]
extern "C" fn weft_host_now() -> u64 {
    clock::now()
}
