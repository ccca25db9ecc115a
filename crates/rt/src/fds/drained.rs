//! Descriptors of which it is known, without asking the kernel, that nothing can be received now: a wait for them parks at
//! once.
//!
//! A byte stream is drained when a receive has returned less than it had room for, or `EAGAIN` (epoll(7), question 9).
//! Reading cannot make that untrue, whoever reads: another coroutine, a thread, a process that shares the socket. Only what
//! arrives can, and each arrival is an edge for the reactor. So there is no opposite of it here: that something can be
//! received may cease to be true unseen, and the kernel is asked.
//!
//! It must not know how a socket is read, nor what its type is: the hooks tell. Invariant: while a descriptor is drained,
//! everything that has arrived since has an event that the reactor has not taken yet.

use crate::reactor::Readiness;

/// Receives from a descriptor after which its type is asked for, and the reactor watches it: connections that are closed
/// after an answer or two do not pay for it.
const RECEIVES: u8 = 4;

/// After one of these there may be something behind a receive that returned less than it had room for: the end, an
/// error, or what follows urgent data. It may have arrived with the bytes, without an event of its own.
const MARKS: Readiness = Readiness(libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR | libc::POLLPRI);

/// What a receive that returns less than it had room for says of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stream {
    /// TCP: that there is no more.
    Tcp,
    /// A Unix stream: that there is no more, unless the kernel has stopped at descriptors or credentials.
    Unix,
    /// Any other, or not asked yet: nothing.
    #[default]
    Other,
}

/// What is known of one descriptor while the reactor watches it.
#[derive(Default)]
pub(super) struct Drained {
    stream: Stream,
    receives: u8,
    drained: bool,
    /// Whether one of [`MARKS`] has been reported.
    marked: bool,
}

impl Drained {
    /// Whether nothing can be received until the next event.
    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        self.drained
    }

    /// What the last receive from a watched descriptor has said: whether it has left nothing.
    #[inline]
    pub(super) fn received_all(&mut self, all: bool) {
        self.drained = all && !self.marked;
    }

    /// How a receive is to be understood.
    #[inline]
    pub(super) fn stream(&self) -> Stream {
        if self.marked { Stream::Other } else { self.stream }
    }

    /// Records what the descriptor is.
    pub(super) fn set_stream(&mut self, stream: Stream) {
        self.stream = stream;
    }

    /// Counts a receive. True once: when its type is worth asking for.
    pub(super) fn count_receive(&mut self) -> bool {
        self.receives = self.receives.saturating_add(1);
        self.receives == RECEIVES
    }

    /// The reactor has taken its event.
    pub(super) fn event(&mut self, readiness: Readiness) {
        self.marked |= readiness.any(MARKS);
        self.drained &= !readiness.readable() && !self.marked;
    }
}
