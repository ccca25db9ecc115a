//! SIGUSR2 in a worker whose loop may never run again: the kernel sends it when the master has died, and the master
//! sends it when the worker has been silent for long.
//!
//! If the loop has not done so after a second, an orphan releases the listening sockets, so that another master can
//! have the port; and it ends after its grace period. A worker that is asked reports where it is stuck, and
//! its connections leave it. The worker sends the signal to itself when code that nothing can stop has run for too long:
//! then it ends at once.
//!
//! Must not know why the loop does not run. Invariant: the handler runs between any two instructions of the main
//! thread. It uses only atomics and system calls, except for its last step, the names of the requests: that may fail in
//! any way, because the master kills the process a second later. The handler does nothing if another process sends the
//! signal.
#![allow(unsafe_code)]

use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64};

use rustix::net::{SendFlags, Shutdown, send, shutdown};

use super::crash;
use crate::master::control::{PACKET_BYTES_MAX, STOOD};

/// How long an orphan's loop has to accept the queued connections and to close the sockets itself.
const RELEASE_AFTER_S: u64 = 1;
/// The maximum of listening sockets that the handler releases.
const LISTENING_MAX: usize = 64;
/// How long the master has to kill a worker that it has asked.
const KILLED_AFTER_S: u32 = 5;
/// The status with which a worker ends that was given up.
const GIVEN_UP: i32 = 1;
/// Room for the name of a function and the path of a file.
const PLACE_BYTES_MAX: usize = 1024;

/// The signal, as the master sends it.
pub const LOST: i32 = libc::SIGUSR2;

static MASTER: AtomicI32 = AtomicI32::new(0);
/// This process; a child that the application forks also has the handler, but is not a worker.
static OWN: AtomicI32 = AtomicI32::new(0);
static GRACE_S: AtomicU64 = AtomicU64::new(0);
static TIMER: AtomicPtr<libc::c_void> = AtomicPtr::new(null_mut());
/// The kernel's first timer of a process has number 0, which is not a null pointer here.
static HAS_TIMER: AtomicBool = AtomicBool::new(false);
static STEPS: AtomicU32 = AtomicU32::new(0);
static LISTENING: [AtomicI32; LISTENING_MAX] = [const { AtomicI32::new(-1) }; LISTENING_MAX];
static IS_LISTENING: AtomicBool = AtomicBool::new(false);
static IS_GIVEN_UP: AtomicBool = AtomicBool::new(false);
static CONTROL: AtomicI32 = AtomicI32::new(-1);
/// A `fn() -> String` that names the current requests.
static REQUESTS: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Installs the handler, in a worker that was just forked. `grace_s` is how long it may outlive its master.
pub fn prepare(grace_s: u32) {
    GRACE_S.store(u64::from(grace_s), Relaxed);
    // SAFETY: the calls have no preconditions; the structures are plain data, for which zeros are a valid value, and
    // outlive the calls; the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        MASTER.store(libc::getppid(), Relaxed);
        OWN.store(libc::getpid(), Relaxed);
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = LOST;
        let mut timer: libc::timer_t = null_mut();
        // Without a timer an orphan that is stuck stays; the closed control end still works for those that are
        // not.
        if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) == 0 {
            TIMER.store(timer, Relaxed);
            HAS_TIMER.store(true, Relaxed);
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = lost as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(LOST, &raw const action, null_mut());
    }
}

/// The sockets that the handler releases, and the control end on which it reports. `listening` MUST stay open until
/// [`sockets_are_closed`].
pub fn serving(control: RawFd, listening: &[RawFd], requests: fn() -> String) {
    CONTROL.store(control, Relaxed);
    REQUESTS.store(requests as *mut (), Relaxed);
    LISTENING.iter().zip(listening).for_each(|(place, fd)| place.store(*fd, Relaxed));
    IS_LISTENING.store(true, Relaxed);
}

/// The loop is about to close the listening sockets itself: their numbers may soon be reused.
pub fn sockets_are_closed() {
    IS_LISTENING.store(false, Relaxed);
}

extern "C" fn lost(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the calls have no preconditions, and errno is this thread's; the kernel gives a valid `info`.
    unsafe {
        let errno = *libc::__errno_location();
        let master = MASTER.load(Relaxed);
        if OWN.load(Relaxed) == libc::getpid() {
            if libc::getppid() != master {
                orphaned();
            } else if (*info).si_code == libc::SI_USER && (*info).si_pid() == master {
                say_where();
                be_killed();
            } else if (*info).si_pid() == libc::getpid() && IS_GIVEN_UP.load(Relaxed) {
                crash::give_away(true);
                crash::say_last_words(0);
                super::signals::exit_now(GIVEN_UP);
            }
        }
        *libc::__errno_location() = errno;
    }
}

/// Ends this worker, whatever its loop's thread does, after its connections have left it. Any thread may call this.
pub fn give_up() {
    IS_GIVEN_UP.store(true, Relaxed);
    let own = OWN.load(Relaxed);
    // SAFETY: the call has no preconditions. The loop's thread is the first one of the process.
    unsafe { libc::syscall(libc::SYS_tgkill, own, own, LOST) };
}

/// Nothing may happen here any more: the connections have left. The master kills the process.
fn be_killed() -> ! {
    let mut text = crash::Text::<PLACE_BYTES_MAX>::new();
    text.push(&[STOOD]);
    text.push(b"all that waited for it has left");
    // A text that is full is complete enough.
    let _ = crash::outcome(&mut text, &crash::give_away(true));
    // SAFETY: as in `say_where`.
    let control = unsafe { BorrowedFd::borrow_raw(CONTROL.load(Relaxed)) };
    let _ = send(control, text.bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    crash::say_last_words(0);
    let second = rustix::thread::Timespec { tv_sec: 1, tv_nsec: 0 };
    for _ in 0..KILLED_AFTER_S {
        // Any end of the pause is an end.
        let _ = rustix::thread::nanosleep(&second);
    }
    super::signals::exit_now(GIVEN_UP)
}

/// The next step of the end; the timer sends the signal again for the one after it.
fn orphaned() {
    match STEPS.fetch_add(1, Relaxed) {
        0 => again_after(RELEASE_AFTER_S),
        1 => {
            let is_listening = IS_LISTENING.load(Relaxed);
            for fd in LISTENING.iter().map(|fd| fd.load(Relaxed)).filter(|fd| is_listening && *fd >= 0) {
                // SAFETY: the socket is open until `sockets_are_closed`, which has not been called.
                let socket = unsafe { BorrowedFd::borrow_raw(fd) };
                // The socket stops listening for all processes that have it (inet_shutdown in net/ipv4/af_inet.c);
                // waiting connections are reset.
                let _ = shutdown(socket, Shutdown::Both);
            }
            again_after(GRACE_S.load(Relaxed));
        }
        _ => super::signals::exit_now(1),
    }
}

fn again_after(seconds: u64) {
    // SAFETY: timer_settime(2) is async-signal-safe; the structure is plain data; the timer is there.
    unsafe {
        let mut time: libc::itimerspec = std::mem::zeroed();
        time.it_value.tv_sec = seconds.max(1) as libc::time_t;
        if HAS_TIMER.load(Relaxed) {
            libc::timer_settime(TIMER.load(Relaxed), 0, &raw const time, null_mut());
        }
    }
}

/// Two packets: first the place in PHP code, which is cheap to find; then the requests.
fn say_where() {
    let fd = CONTROL.load(Relaxed);
    if fd < 0 {
        return;
    }
    // SAFETY: the worker keeps its control end open until it exits.
    let control = unsafe { BorrowedFd::borrow_raw(fd) };
    let mut packet = [STOOD; PLACE_BYTES_MAX];
    let length = weft_zend::code_location(&mut packet[1..]);
    let tell = |packet: &[u8]| {
        // If the socket is full, the master does not read.
        let _ = send(control, packet, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    };
    tell(&packet[..1 + length]);
    let requests = REQUESTS.load(Relaxed);
    if !requests.is_null() {
        // SAFETY: only `serving` stores it, from a function of this type.
        let requests: fn() -> String = unsafe { std::mem::transmute(requests) };
        let text = requests();
        tell(&[&[STOOD], &text.as_bytes()[..text.floor_char_boundary(PACKET_BYTES_MAX - 1)]].concat());
    }
}
