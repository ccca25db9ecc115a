//! A connection's socket and what is known of its readiness.
//!
//! This is the only file that receives. Must not know HTTP. Invariant: the registration is edge-triggered, so
//! `readable` stays set until a read has proved that nothing is left: by a short read, or EAGAIN.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};
use weft_rt::Readiness;

/// The result of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Received {
    /// This many bytes, at least one.
    Bytes(usize),
    /// Nothing now; an event will come.
    Nothing,
    /// The peer will send no more.
    End,
    /// The connection is broken.
    Broken,
}

/// A socket.
pub(crate) struct Link {
    pub fd: OwnedFd,
    /// Whether a read may return something.
    pub readable: bool,
    /// Whether the peer has sent its FIN; a read will end with 0 bytes.
    pub half_closed: bool,
    /// Whether the connection is reset, or hung up in both directions: nothing can be sent.
    pub broken: bool,
}

impl Link {
    pub(crate) fn new(fd: OwnedFd) -> Link {
        Link { fd, readable: false, half_closed: false, broken: false }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Records what the reactor reported.
    pub(crate) fn note(&mut self, readiness: Readiness) {
        self.readable |= readiness.readable();
        // POLLRDHUP is in READ, next to POLLIN; here only that bit counts.
        const HALF_CLOSED: Readiness = Readiness(0x2000);
        self.half_closed |= readiness.any(HALF_CLOSED);
        self.broken |= readiness.any(Readiness::BROKEN);
    }

    /// Receives into `buffer`.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Received {
        let room = buffer.len();
        let received = loop {
            match recv(&self.fd, &mut *buffer, RecvFlags::empty()) {
                Err(Errno::INTR) => (),
                other => break other,
            }
        };
        self.received(received.map(|(_, count)| count), room)
    }

    fn received(&mut self, received: Result<usize, Errno>, room: usize) -> Received {
        match received {
            Ok(0) => {
                (self.readable, self.half_closed) = (false, true);
                Received::End
            }
            Ok(count) => {
                // After a FIN there is no further edge: its zero bytes must still be read.
                self.readable = count == room || self.half_closed;
                Received::Bytes(count)
            }
            Err(Errno::AGAIN) => {
                self.readable = false;
                Received::Nothing
            }
            Err(_) => {
                (self.readable, self.broken) = (false, true);
                Received::Broken
            }
        }
    }

    /// Drops the bytes that have arrived, at most as many as fit in `buffer`. For TCP the kernel does not even copy
    /// them (tcp(7), MSG_TRUNC).
    pub(crate) fn discard(&mut self, buffer: &mut [u8]) -> Received {
        let room = buffer.len();
        let received = loop {
            match recv(&self.fd, &mut *buffer, RecvFlags::TRUNC) {
                Err(Errno::INTR) => (),
                other => break other,
            }
        };
        self.received(received.map(|(_, count)| count), room)
    }

    /// Whether bytes have arrived for which no event has come yet.
    pub(crate) fn has_unread(&self) -> bool {
        matches!(recv(&self.fd, &mut [0], RecvFlags::PEEK), Ok((_, count)) if count > 0)
    }

    /// Shuts down the sending side.
    pub(crate) fn end_sending(&mut self) {
        if shutdown(&self.fd, Shutdown::Write).is_err() {
            self.broken = true;
        }
    }
}
