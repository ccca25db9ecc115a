//! A hooked call: the coroutine that makes it, whether it may park, and the waits from which all hooks are built.
//!
//! It knows descriptors, deadlines and errno. It must not know any function of libc by name; `names` says what a symbol
//! needs.
//!
//! Invariants: after a successful call errno has the value it had before, although other coroutines ran in between; after
//! a wait a descriptor number is used only if the descriptor was not closed meanwhile.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libc::c_int;

use super::backoff::Backoff;
use super::descriptor::DescriptorKind;
use super::errno::{errno, fail, set_errno};
use super::names::{HookKind, Symbol};
use super::signal::interrupt;
use super::socket::timeout::{SocketTimeout, is_nonblocking};
use super::{blocked, descriptor, purpose, raw};
use crate::{Nanos, Readiness, Runtime, Wait, Wake, clock};

/// A call by a coroutine. Outside of coroutines there is none, and the hook is the plain function.
#[derive(Clone, Copy)]
pub struct Call {
    pub runtime: &'static Runtime,
    symbol: Symbol,
    /// It has waited already: a signal that has come since then interrupts it, as it would the kernel's single wait.
    again: bool,
}

/// Why a wait ended without readiness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Its deadline has passed.
    Expired,
    /// The call fails with this errno: `EBADF` (closed meanwhile), `ECANCELED`, or `EINTR` (a signal's handler has run).
    Failed(c_int),
}

impl Stop {
    /// The errno that a socket call reports: Linux returns `EAGAIN` when `SO_RCVTIMEO` or `SO_SNDTIMEO`
    /// expires.
    pub fn errno(self) -> c_int {
        match self {
            Stop::Expired => libc::EAGAIN,
            Stop::Failed(errno) => errno,
        }
    }
}

static YIELDS: AtomicBool = AtomicBool::new(false);

/// For tests: every other hooked call that might wait, chosen at random, lets the other coroutines run first. This
/// reveals code that depends on when coroutines switch. Calls of kind *note* never wait, and the server itself makes
/// them while it borrows: a descriptor is closed where its owner goes out of scope.
pub fn yield_at_calls(on: bool) {
    YIELDS.store(on, Ordering::Relaxed);
}

#[cold]
fn yield_first(call: Call) {
    if call.symbol.kind() == HookKind::Note {
        return;
    }
    static SEED: AtomicU64 = AtomicU64::new(0x9e37_79b9_7f4a_7c15);
    let mut seed = SEED.load(Ordering::Relaxed); // xorshift: the same order in each run
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    SEED.store(seed, Ordering::Relaxed);
    if seed & 1 == 1 && call.runtime.can_park() {
        let saved = errno();
        call.runtime.yield_uncancelled();
        set_errno(saved);
    }
}

impl Call {
    /// The call, if a coroutine of this thread makes it.
    #[inline(always)]
    pub fn enter(symbol: Symbol) -> Option<Call> {
        let runtime = Runtime::get()?;
        runtime.current()?;
        let call = Call { runtime, symbol, again: false };
        if !symbol.chooses_when_to_yield() {
            call.yield_by_chance();
        }
        Some(call)
    }

    /// The call before its next wait: for those that ask the kernel again after a wait, and may have to wait once more.
    #[must_use]
    pub fn again(self) -> Call {
        Call { again: true, ..self }
    }

    /// For tests, see [`yield_at_calls`]: a call that might wait.
    #[inline(always)]
    pub fn yield_by_chance(self) {
        if YIELDS.load(Ordering::Relaxed) {
            yield_first(self);
        }
    }

    /// Whether the call must block the whole worker because the coroutine may not leave now. Ask only if it would wait:
    /// a yes is counted.
    #[cold]
    pub fn must_block(self) -> bool {
        let blocks = !self.runtime.can_park();
        if blocks {
            self.count_blocked();
        }
        blocks
    }

    /// Counts a call that blocks the whole worker.
    #[cold]
    pub fn count_blocked(self) {
        let (saved, stats) = (errno(), self.runtime.stats);
        stats.blocked.add(1);
        self.runtime
            .switch
            .stands_at(&mut |file, line| stats.blocking.add(self.symbol as usize, file, line, 1));
        if blocked::count(self.symbol) {
            self.runtime.switch.blocks(self.symbol.name());
        }
        set_errno(saved);
    }

    /// Runs `work` on an offload thread. `None` if it was cancelled before the end.
    pub fn offload<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        self.begin_offload();
        self.runtime.offload(work)
    }

    /// Runs `work` on a dedicated thread. `None` if it was cancelled before the end.
    pub fn offload_apart<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        self.begin_offload();
        self.runtime.offload_apart(work)
    }

    /// Runs `work` on an offload thread and waits for its end, even if cancelled.
    pub fn offload_to_end<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> T {
        self.begin_offload();
        self.runtime.offload_to_end(work)
    }

    fn begin_offload(self) {
        blocked::count_offloaded(self.symbol);
        self.runtime.waits_for(purpose::of_symbol(self.symbol));
    }

    /// Parks until `fd` is ready. The caller has tried and found it not ready.
    pub fn wait(self, fd: RawFd, interest: Readiness, deadline: Option<Nanos>) -> Result<Readiness, Stop> {
        descriptor::drop_stale(self.runtime, fd);
        let generation = descriptor::generation(fd);
        let interruptible = interrupt::class(self.symbol, deadline.is_some());
        let wake = interrupt::during(self.runtime, interruptible, self.again, || {
            self.runtime.waits_for_fd(purpose::of_descriptor(fd), fd);
            self.runtime.wait_fd(fd, interest, deadline)
        });
        // It may have been closed after its readiness was reported and before this coroutine ran.
        if descriptor::generation(fd) != generation {
            return Err(Stop::Failed(libc::EBADF));
        }
        match wake {
            Wake::Ready(readiness) if readiness.any(Readiness::CLOSED) => Err(Stop::Failed(libc::EBADF)),
            Wake::Ready(readiness) if readiness.any(Readiness::INTERRUPTED) => Err(Stop::Failed(libc::EINTR)),
            Wake::Ready(readiness) => Ok(readiness),
            Wake::TimedOut => Err(Stop::Expired),
            Wake::Cancelled => {
                self.cut_short([fd]);
                Err(Stop::Failed(libc::ECANCELED))
            }
        }
    }

    /// The wait for these was cut short. A connection in the middle of a conversation is unusable from now on. Ending
    /// it is the one thing that every client library and every pool notices before the next use. A pipe stays as it is:
    /// who closes it may ask whether its last wait was cut short.
    #[cold]
    fn cut_short(self, fds: impl IntoIterator<Item = RawFd>) {
        let saved = errno();
        let ends = self.runtime.switch.in_conversation();
        for fd in fds {
            match descriptor::kind(fd) {
                Some(DescriptorKind::Stream) => descriptor::set_cut_short(fd),
                _ if !descriptor::is_byte_stream(fd) => (),
                _ if ends => raw::end_connection(fd),
                _ => descriptor::set_cut_short(fd),
            }
        }
        set_errno(saved);
    }

    /// Parks until one of `fds` is ready, for calls that ask the kernel again afterwards.
    pub fn wait_any(self, fds: &[(RawFd, Readiness)], deadline: Option<Nanos>) -> Wake {
        let interruptible = interrupt::class(self.symbol, false);
        let wake = interrupt::during(self.runtime, interruptible, self.again, || {
            let (kind, fd) = purpose::of_descriptors(fds);
            self.runtime.waits_for_fd(kind, fd);
            self.runtime.wait_fds(fds, deadline)
        });
        if wake == Wake::Cancelled {
            self.cut_short(fds.iter().map(|&(fd, _)| fd));
        }
        wake
    }

    /// Parks until `deadline`. `ECANCELED` if cancelled before, `EINTR` if a signal's handler has run.
    pub fn sleep_until(self, deadline: Nanos) -> Result<(), c_int> {
        self.sleep_with(|_| (), Some(deadline))
    }

    /// [`Call::sleep_until`], which may end earlier: `waiting` hands the wait to the code that ends it.
    pub fn pause_until(self, deadline: Nanos, waiting: impl FnOnce(Wait)) -> Result<(), c_int> {
        self.sleep_with(waiting, Some(deadline))
    }

    fn sleep_with(self, waiting: impl FnOnce(Wait), deadline: Option<Nanos>) -> Result<(), c_int> {
        let saved = errno();
        let interruptible = interrupt::class(self.symbol, false);
        let wake = interrupt::during(self.runtime, interruptible, self.again, || {
            self.runtime.waits_for(purpose::of_symbol(self.symbol));
            let wait = self.runtime.begin_call_wait();
            waiting(wait);
            self.runtime.park(wait, deadline)
        });
        set_errno(saved);
        match wake {
            Wake::Cancelled => Err(libc::ECANCELED),
            Wake::Ready(readiness) if readiness.any(Readiness::INTERRUPTED) => Err(libc::EINTR),
            Wake::Ready(_) | Wake::TimedOut => Ok(()),
        }
    }

    /// Pauses before the next attempt, but not beyond `deadline`.
    pub fn pause(self, backoff: &mut Backoff, deadline: Option<Nanos>) -> Result<(), Stop> {
        self.pause_for(Some(backoff), deadline, |_| ())
    }

    /// [`Call::pause`], which may end earlier: `waiting` hands the wait to the code that ends it. Without a back-off
    /// only that code, or the deadline, ends it.
    pub fn pause_for(
        self,
        backoff: Option<&mut Backoff>,
        deadline: Option<Nanos>,
        waiting: impl FnOnce(Wait),
    ) -> Result<(), Stop> {
        let now = clock::now();
        if deadline.is_some_and(|deadline| now >= deadline) {
            return Err(Stop::Expired);
        }
        let until = [backoff.map(|backoff| now + backoff.next()), deadline].into_iter().flatten().min();
        self.sleep_with(waiting, until).map_err(Stop::Failed)
    }

    /// Pauses even if the coroutine is cancelled: for calls that cannot fail, such as taking a mutex.
    pub fn pause_uncancelled(self, backoff: &mut Backoff) {
        self.pause_uncancelled_for(backoff, Nanos::MAX);
    }

    /// As [`Call::pause_uncancelled`], for `left` at most.
    pub fn pause_uncancelled_for(self, backoff: &mut Backoff, left: Nanos) {
        let saved = errno();
        self.runtime.waits_for(purpose::of_symbol(self.symbol));
        self.runtime.sleep_uncancelled(clock::now() + backoff.next().min(left));
        set_errno(saved);
    }

    /// Runs `attempt`, which never blocks, until it returns something other than `EAGAIN`; parks in between. It does
    /// not wait for a descriptor in non-blocking mode. `block` is the plain call, made if the coroutine may not leave.
    #[inline]
    pub fn until_ready(
        self,
        fd: RawFd,
        interest: Readiness,
        timeout: &mut SocketTimeout,
        mut attempt: impl FnMut() -> isize,
        block: impl FnOnce() -> isize,
    ) -> isize {
        let saved = errno();
        if interest == Readiness::READ && self.can_only_wait(fd) && !is_nonblocking(fd) {
            return self.wait_and_retry(saved, fd, interest, timeout, attempt);
        }
        let result = attempt();
        if result >= 0 || errno() != libc::EAGAIN {
            return result;
        }
        if is_nonblocking(fd) {
            return fail(libc::EAGAIN);
        }
        if self.must_block() {
            set_errno(saved);
            return block();
        }
        self.wait_and_retry(saved, fd, interest, timeout, attempt)
    }

    /// Whether a wait to receive can begin without asking the kernel: nothing has come since the last receive, and the
    /// coroutine may leave.
    #[inline]
    pub fn can_only_wait(self, fd: RawFd) -> bool {
        descriptor::drop_stale(self.runtime, fd);
        self.runtime.is_drained(fd) && self.runtime.can_park()
    }

    #[cold]
    fn wait_and_retry(
        self,
        saved: c_int,
        fd: RawFd,
        interest: Readiness,
        timeout: &mut SocketTimeout,
        mut attempt: impl FnMut() -> isize,
    ) -> isize {
        let deadline = timeout.deadline(fd);
        let mut call = self;
        loop {
            if let Err(stop) = call.wait(fd, interest, deadline) {
                return fail(stop.errno());
            }
            let result = attempt();
            if result >= 0 {
                set_errno(saved);
                return result;
            }
            if errno() != libc::EAGAIN {
                return result;
            }
            call = call.again();
        }
    }
}
