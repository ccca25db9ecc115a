//! The reactor: descriptors in, readiness out. One file per kernel mechanism with the same methods. It knows keys and must
//! not know what they stand for.
//!
//! Registrations are edge-triggered and kept: a wait on a registered descriptor costs no system call besides the
//! attempt that found it not ready. A caller MUST have tried first and seen EAGAIN.

mod epoll;

pub use epoll::Epoll as Reactor;
pub(crate) use epoll::{has_events, name_of, peer_name, ready_now, wait_for_events};

/// What a descriptor is ready for, as poll(2) event bits (`POLLIN`, `POLLOUT`, `POLLPRI`, `POLLERR`, `POLLHUP`,
/// `POLLRDHUP`, `POLLNVAL`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Readiness(pub i16);

impl Readiness {
    /// Readable, at end of file, or in error: a read will not block.
    pub const READ: Readiness = Readiness(libc::POLLIN | libc::POLLRDHUP);
    /// Writable or in error: a write will not block.
    pub const WRITE: Readiness = Readiness(libc::POLLOUT);
    /// Errors and hang-ups, which poll(2) always reports.
    pub const BROKEN: Readiness = Readiness(libc::POLLERR | libc::POLLHUP);
    /// The descriptor was closed while a coroutine waited for it.
    pub const CLOSED: Readiness = Readiness(libc::POLLNVAL);

    /// Not a readiness: a signal whose handler has run ends the wait.
    pub const INTERRUPTED: Readiness = Readiness(0x4000);

    /// Whether any bit of `other` is set.
    pub fn any(self, other: Readiness) -> bool {
        self.0 & other.0 != 0
    }

    /// A read will not block: data, end of file, or an error to collect.
    pub fn readable(self) -> bool {
        self.any(Readiness(Readiness::READ.0 | Readiness::BROKEN.0))
    }

    /// A write will not block: room, or an error to collect.
    pub fn writable(self) -> bool {
        self.any(Readiness(Readiness::WRITE.0 | Readiness::BROKEN.0))
    }
}

/// One report of the kernel: the key given at registration, and what is ready.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// As given to `Reactor::add`.
    pub key: u64,
    /// What is ready.
    pub readiness: Readiness,
}
