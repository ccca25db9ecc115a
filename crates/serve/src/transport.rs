//! The transport of a connection: bytes in, bytes out, and what is known of its readiness.
//!
//! It alone owns the descriptor: it receives, sends, knows whether there is more to read, and ends both directions. The
//! bytes travel as they are, by TLS (`tls.rs`, `records.rs`), or in a stream of another connection (`carried.rs`), which has no
//! descriptor. Must not know what the bytes mean. Invariant: the registration is edge-triggered, so `readable` stays
//! set until a read has proved that nothing is left: by a short read, or EAGAIN. Sending returns EAGAIN only when the
//! next edge is certain to come.

mod carried;
mod layered;
mod over;
mod received;
mod records;
mod remainder;
mod session;
mod tls;

use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::sendfile;
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_user_timeout;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrAny, getsockname, recv, send, sendmsg,
    shutdown,
};
use socket2::SockRef;
use weft_rt::{Nanos, Readiness, SECOND};

pub(crate) use carried::{Carried, Link};
use over::Over;
pub(crate) use received::Received;
pub use session::{Session, note_server_name};

/// The most bytes for one sendfile(2): the kernel's own limit, rounded to pages.
const SENDFILE_BYTES_MAX: u64 = 0x7fff_f000;
/// With less, the kernel would ask for the rest of a large message in small pieces.
const UNSENT_BYTES_MIN: usize = 64 * 1024;
/// What waits in an outbox may be shared by thousands of them; the kernel has a copy for each.
const UNSENT_BYTES_MAX: usize = 256 * 1024;

/// A socket, and TLS on it; or a stream of another connection.
pub(crate) struct Transport {
    /// `None` for a stream of another connection.
    socket: Option<OwnedFd>,
    over: Option<Box<Over>>,
    /// Whether a read may return something.
    pub readable: bool,
    /// Whether the peer has sent its FIN; a read will end with 0 bytes.
    pub half_closed: bool,
    /// Whether a header of the PROXY protocol names its peer, which no other process could find out.
    pub is_announced: bool,
    /// Whether the connection is reset, or hung up in both directions: nothing can be sent.
    pub broken: bool,
}

impl Transport {
    pub(crate) fn new(socket: OwnedFd) -> Transport {
        Transport {
            socket: Some(socket),
            over: None,
            readable: false,
            half_closed: false,
            is_announced: false,
            broken: false,
        }
    }

    /// The number of the descriptor, for the reactor.
    pub(crate) fn number(&self) -> Option<RawFd> {
        self.socket.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// The socket, for another process that goes on with it as it is. `None` if this process knows more of it.
    pub(crate) fn to_pass_on(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().filter(|_| self.is_plain() && !self.is_announced).map(AsFd::as_fd)
    }

    /// The socket, if what is sent goes there as it is.
    pub(crate) fn plain_socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().filter(|_| self.is_plain()).map(AsFd::as_fd)
    }

    /// The address of this end, from the kernel.
    pub(crate) fn local(&self) -> rustix::io::Result<SocketAddrAny> {
        getsockname(self.socket.as_ref().ok_or(Errno::NOTCONN)?)
    }

    /// The kernel breaks the connection off when the peer has acknowledged nothing for this long, of bytes that were sent
    /// (tcp(7), TCP_USER_TIMEOUT).
    pub(crate) fn give_up_after(&self, span_ms: u64) {
        if let Some(socket) = &self.socket {
            // A Unix socket has no such option, and no peer that vanishes.
            let _ = set_tcp_user_timeout(socket, u32::try_from(span_ms).unwrap_or(u32::MAX));
        }
    }

    /// The kernel takes no more than so many bytes that it has not sent yet, or a little more, and 256 KiB at most (tcp(7),
    /// TCP_NOTSENT_LOWAT). By itself it takes twice what it could have under way: megabytes for each peer that has stopped to read.
    pub(crate) fn bound_unsent(&self, bytes: usize) {
        let bytes = bytes.clamp(UNSENT_BYTES_MIN, UNSENT_BYTES_MAX) as u32;
        if let Some(socket) = &self.socket {
            // A Unix socket has no such option, and its own bound is small.
            let _ = SockRef::from(socket).set_tcp_notsent_lowat(bytes);
        }
    }

    /// Records what the reactor reported.
    pub(crate) fn note(&mut self, readiness: Readiness) {
        self.readable |= readiness.readable();
        // POLLRDHUP is in READ, next to POLLIN; here only that bit counts.
        const HALF_CLOSED: Readiness = Readiness(0x2000);
        self.half_closed |= readiness.any(HALF_CLOSED);
        self.broken |= readiness.any(Readiness::BROKEN);
        let ended = self.half_closed;
        if let Some(tls) = self.tls_mut() {
            tls.more |= readiness.readable();
            tls.ended |= ended;
        }
    }

    /// Blocks the thread until there is something to read or room to send, whichever is wanted, for at most `span`;
    /// returns whether there is.
    pub(crate) fn block(&mut self, reads: bool, sends: bool, span: Nanos) -> bool {
        if reads && self.readable && !self.is_plain() {
            return true; // bytes that were received and decrypted do not make the socket ready
        }
        let Some(socket) = &self.socket else { return true };
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, reads);
        interest.set(PollFlags::OUT, sends);
        let timeout = Timespec { tv_sec: (span / SECOND) as i64, tv_nsec: (span % SECOND) as _ };
        let mut fds = [PollFd::new(socket, interest)];
        let ready = poll(&mut fds, Some(&timeout));
        let returned = fds[0].revents();
        if ready == Ok(0) {
            return false;
        }
        self.note(Readiness(returned.bits() as i16));
        true
    }
}

/// Receiving.
impl Transport {
    /// Receives into `buffer`.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Received {
        if self.over.is_some() {
            self.receive_over(buffer)
        } else {
            self.receive_with(buffer, RecvFlags::empty())
        }
    }

    /// Drops the bytes that have arrived, at most as many as fit in `buffer`. For TCP the kernel does not even copy
    /// them (tcp(7), MSG_TRUNC). Nothing is received after it.
    pub(crate) fn discard(&mut self, buffer: &mut [u8]) -> Received {
        self.receive_with(buffer, RecvFlags::TRUNC)
    }

    fn receive_with(&mut self, buffer: &mut [u8], flags: RecvFlags) -> Received {
        let room = buffer.len();
        let Some(socket) = &self.socket else { return Received::End };
        let received = loop {
            match recv(socket, &mut *buffer, flags) {
                Err(Errno::INTR) => (),
                other => break other,
            }
        };
        match received.map(|(_, count)| count) {
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

    /// Copies what has arrived into `buffer`, and leaves it there to be received.
    pub(crate) fn peek(&mut self, buffer: &mut [u8]) -> Received {
        let Some(socket) = &self.socket else { return Received::End };
        match recv(socket, &mut *buffer, RecvFlags::PEEK) {
            Ok((_, 0)) => Received::End,
            Ok((_, count)) => Received::Bytes(count),
            Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
            Err(_) => Received::Broken,
        }
    }

    /// Takes the first bytes of what [`Transport::peek`] has shown, below TLS.
    pub(crate) fn skip(&mut self, buffer: &mut [u8]) -> bool {
        let Some(socket) = &self.socket else { return false };
        matches!(recv(socket, &mut *buffer, RecvFlags::empty()), Ok((_, count)) if count == buffer.len())
    }

    /// Whether bytes have arrived for which no event has come yet; `None` where that is another transport's.
    pub(crate) fn has_unread(&self) -> Option<bool> {
        let socket = self.socket.as_ref()?;
        Some(matches!(recv(socket, &mut [0], RecvFlags::PEEK), Ok((_, count)) if count > 0))
    }
}

/// Sending. Each returns how many bytes were taken, which may be fewer than there are; EAGAIN for none now. What was taken
/// may still wait to be sent: see [`Transport::settle`].
impl Transport {
    /// Whether bytes that were taken wait to be sent.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.over.as_deref().is_some_and(Over::has_unsent)
    }

    /// Sends bytes that were taken before; EAGAIN if not all could be sent.
    #[inline]
    pub(crate) fn settle(&mut self) -> rustix::io::Result<()> {
        if self.over.is_none() { Ok(()) } else { self.settle_over() }
    }

    /// Sends `bytes`; `more` if others follow at once, which avoids a small segment for these.
    pub(crate) fn send(&mut self, bytes: &[u8], more: bool) -> rustix::io::Result<usize> {
        if self.over.is_some() {
            return self.send_over(bytes, more);
        }
        let Some(socket) = &self.socket else { return Err(Errno::NOTCONN) };
        const MORE: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::MORE);
        send(socket, bytes, if more { MORE } else { SendFlags::NOSIGNAL })
    }

    /// Sends `first` and then `second`, in one call.
    pub(crate) fn send_both(&mut self, first: &[u8], second: &[u8]) -> rustix::io::Result<usize> {
        if self.over.is_some() {
            return self.send_over(if first.is_empty() { second } else { first }, true);
        }
        let Some(socket) = &self.socket else { return Err(Errno::NOTCONN) };
        let parts = [IoSlice::new(first), IoSlice::new(second)];
        sendmsg(socket, &parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
    }

    /// Sends up to `length` bytes of a file from `offset` on, and moves `offset`. 0 if the file ends there.
    pub(crate) fn send_file(
        &mut self,
        file: &OwnedFd,
        offset: &mut u64,
        length: u64,
    ) -> rustix::io::Result<usize> {
        if self.over.is_some() {
            return self.send_file_over(file, offset, length);
        }
        let Some(socket) = &self.socket else { return Err(Errno::NOTCONN) };
        sendfile(socket, file, Some(offset), length.min(SENDFILE_BYTES_MAX) as usize)
    }

    /// Tells the peer that nothing follows; it may still send.
    pub(crate) fn end_sending(&mut self) {
        self.say_goodbye();
        self.end_stream();
        if self.socket.as_ref().is_some_and(|socket| shutdown(socket, Shutdown::Write).is_err()) {
            self.broken = true;
        }
    }
}
