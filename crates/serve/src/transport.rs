//! The transport of a connection: bytes in, bytes out, and what is known of its readiness.
//!
//! It alone owns the descriptor: it receives, sends, knows whether there is more to read, and ends both directions. The
//! bytes travel as they are, or by TLS (`tls.rs`). Must not know HTTP, nor what the bytes mean. Invariant: the registration is edge-triggered, so `readable` stays set until a
//! read has proved that nothing is left: by a short read, or EAGAIN. Sending returns EAGAIN only when the next edge is
//! certain to come.

mod received;
mod tls;

use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::sendfile;
use rustix::io::{Errno, pread};
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrAny, getsockname, recv, send, sendmsg,
    shutdown,
};
use rustls::{ServerConfig, ServerConnection};
use weft_rt::{Nanos, Readiness, SECOND};

pub(crate) use received::Received;
use tls::Tls;

/// The most bytes for one sendfile(2): the kernel's own limit, rounded to pages.
const SENDFILE_BYTES_MAX: u64 = 0x7fff_f000;
/// A piece of a file that TLS sends.
const FILE_PIECE_BYTES: u64 = 64 * 1024;

/// A socket, and TLS on it.
pub(crate) struct Transport {
    socket: OwnedFd,
    tls: Option<Box<Tls>>,
    /// Whether a read may return something.
    pub readable: bool,
    /// Whether the peer has sent its FIN; a read will end with 0 bytes.
    pub half_closed: bool,
    /// Whether the connection is reset, or hung up in both directions: nothing can be sent.
    pub broken: bool,
}

impl Transport {
    pub(crate) fn new(socket: OwnedFd) -> Transport {
        Transport { socket, tls: None, readable: false, half_closed: false, broken: false }
    }

    /// Speaks TLS from the first byte on. Returns false if that is not possible.
    pub(crate) fn secure(&mut self, config: &Arc<ServerConfig>) -> bool {
        self.tls = Tls::new(config).map(Box::new);
        self.tls.is_some()
    }

    /// The TLS session, if there is one.
    pub(crate) fn session(&self) -> Option<&ServerConnection> {
        self.tls.as_deref().map(Tls::session)
    }

    /// Moves TLS's handshake on; `Bytes` when the peer's own bytes may follow.
    pub(crate) fn establish(&mut self) -> Received {
        let Some(tls) = &mut self.tls else { return Received::Bytes(0) };
        let received = tls.establish(&self.socket);
        // Behind the handshake there may be bytes that no event will announce.
        self.readable = matches!(received, Received::Bytes(_));
        received
    }

    /// The number of the descriptor, for the reactor.
    pub(crate) fn number(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The socket, for another process that goes on with it as it is.
    pub(crate) fn to_pass_on(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The address of this end, from the kernel.
    pub(crate) fn local(&self) -> rustix::io::Result<SocketAddrAny> {
        getsockname(self.socket.as_fd())
    }

    /// Records what the reactor reported.
    pub(crate) fn note(&mut self, readiness: Readiness) {
        self.readable |= readiness.readable();
        // POLLRDHUP is in READ, next to POLLIN; here only that bit counts.
        const HALF_CLOSED: Readiness = Readiness(0x2000);
        self.half_closed |= readiness.any(HALF_CLOSED);
        self.broken |= readiness.any(Readiness::BROKEN);
        if let Some(tls) = &mut self.tls {
            tls.more |= readiness.readable();
            tls.ended |= self.half_closed;
        }
    }

    /// Blocks the thread until there is something to read or room to send, whichever is wanted, for at most `span`;
    /// returns whether there is.
    pub(crate) fn block(&mut self, reads: bool, sends: bool, span: Nanos) -> bool {
        if reads && self.readable && self.tls.is_some() {
            return true; // bytes that were received and decrypted do not make the socket ready
        }
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, reads);
        interest.set(PollFlags::OUT, sends);
        let timeout = Timespec { tv_sec: (span / SECOND) as i64, tv_nsec: (span % SECOND) as _ };
        let mut fds = [PollFd::new(&self.socket, interest)];
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
        if self.tls.is_some() {
            self.receive_tls(buffer)
        } else {
            self.receive_with(buffer, RecvFlags::empty())
        }
    }

    #[cold]
    #[inline(never)]
    fn receive_tls(&mut self, buffer: &mut [u8]) -> Received {
        let Some(tls) = self.tls.as_deref_mut() else { return Received::Nothing };
        let received = tls.receive(&self.socket, buffer);
        self.readable = match received {
            Received::Bytes(count) => count == buffer.len() || tls.more,
            Received::Nothing | Received::End | Received::Broken => false,
        };
        self.half_closed |= received == Received::End;
        self.broken |= received == Received::Broken;
        received
    }

    /// Drops the bytes that have arrived, at most as many as fit in `buffer`. For TCP the kernel does not even copy
    /// them (tcp(7), MSG_TRUNC). Nothing is received after it.
    pub(crate) fn discard(&mut self, buffer: &mut [u8]) -> Received {
        self.receive_with(buffer, RecvFlags::TRUNC)
    }

    fn receive_with(&mut self, buffer: &mut [u8], flags: RecvFlags) -> Received {
        let room = buffer.len();
        let received = loop {
            match recv(&self.socket, &mut *buffer, flags) {
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

    /// Whether bytes have arrived for which no event has come yet.
    pub(crate) fn has_unread(&self) -> bool {
        matches!(recv(&self.socket, &mut [0], RecvFlags::PEEK), Ok((_, count)) if count > 0)
    }
}

/// Sending. Each returns how many bytes were taken, which may be fewer than there are; EAGAIN for none now. What was taken
/// may still wait to be sent: see [`Transport::settle`].
impl Transport {
    /// Whether bytes that were taken wait to be sent.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.tls.as_deref().is_some_and(Tls::has_unsent)
    }

    /// Sends bytes that were taken before; EAGAIN if not all could be sent.
    #[inline]
    pub(crate) fn settle(&mut self) -> rustix::io::Result<()> {
        if self.tls.is_none() { Ok(()) } else { self.settle_tls() }
    }

    /// Sends `bytes`; `more` if others follow at once, which avoids a small segment for these.
    pub(crate) fn send(&mut self, bytes: &[u8], more: bool) -> rustix::io::Result<usize> {
        if self.tls.is_some() {
            return self.send_tls(bytes);
        }
        const MORE: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::MORE);
        send(&self.socket, bytes, if more { MORE } else { SendFlags::NOSIGNAL })
    }

    /// Sends `first` and then `second`, in one call.
    pub(crate) fn send_both(&mut self, first: &[u8], second: &[u8]) -> rustix::io::Result<usize> {
        if self.tls.is_some() {
            return self.send_tls(if first.is_empty() { second } else { first });
        }
        let parts = [IoSlice::new(first), IoSlice::new(second)];
        sendmsg(&self.socket, &parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
    }

    /// Sends up to `length` bytes of a file from `offset` on, and moves `offset`. 0 if the file ends there.
    pub(crate) fn send_file(
        &mut self,
        file: &OwnedFd,
        offset: &mut u64,
        length: u64,
    ) -> rustix::io::Result<usize> {
        if self.tls.is_some() {
            return self.send_file_tls(file, offset, length);
        }
        sendfile(&self.socket, file, Some(offset), length.min(SENDFILE_BYTES_MAX) as usize)
    }

    // Out of line, so that plain connections do not pay for it.
    #[cold]
    #[inline(never)]
    fn send_tls(&mut self, bytes: &[u8]) -> rustix::io::Result<usize> {
        self.tls.as_deref_mut().map_or(Err(Errno::IO), |tls| tls.send(&self.socket, bytes))
    }

    /// Records hold encrypted bytes, so the file passes through memory.
    #[cold]
    #[inline(never)]
    fn send_file_tls(&mut self, file: &OwnedFd, offset: &mut u64, length: u64) -> rustix::io::Result<usize> {
        let Some(tls) = self.tls.as_deref_mut() else { return Err(Errno::IO) };
        tls.push(&self.socket)?;
        let mut piece = vec![0; length.min(FILE_PIECE_BYTES) as usize];
        let count = pread(file, &mut piece, *offset)?;
        let taken = tls.send(&self.socket, &piece[..count])?;
        *offset += taken as u64;
        Ok(taken)
    }

    #[cold]
    #[inline(never)]
    fn settle_tls(&mut self) -> rustix::io::Result<()> {
        self.tls.as_deref_mut().map_or(Ok(()), |tls| tls.push(&self.socket))
    }

    /// Tells the peer that nothing follows; it may still send.
    pub(crate) fn end_sending(&mut self) {
        self.say_goodbye();
        if shutdown(&self.socket, Shutdown::Write).is_err() {
            self.broken = true;
        }
    }

    /// The connection is about to be closed: TLS wants that to be said.
    pub(crate) fn say_goodbye(&mut self) {
        if let Some(tls) = self.tls.as_deref_mut() {
            tls.end(&self.socket);
        }
    }
}
