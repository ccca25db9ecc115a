//! TLS over a socket: what has arrived becomes plain bytes, what is sent becomes records.
//!
//! Must not know certificates, nor who speaks above: rustls has the protocol (`records.rs`), and its configuration comes
//! with the listener. Records are received and made in buffers that all connections of the thread share. Invariants: a
//! connection holds only the part of a record that has arrived, and what its peer has not taken: at most
//! [`AHEAD_BYTES_MAX`] of what was to be sent, and nothing more is taken before the socket has all of it. `more` stays
//! set until the socket has shown that nothing is left.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::ServerConfig;

use crate::transport::received::Received;
use crate::transport::records::{Outgoing, Passed, Plain, Say, pass};
use crate::transport::remainder::Remainder;
use crate::transport::session::Session;

/// Plain bytes that are encrypted at once: four full records.
const AHEAD_BYTES_MAX: usize = 64 * 1024;
/// What is received at once: a full record (RFC 8446 5.2, RFC 5246 6.2.3).
const RECEIVE_BYTES: usize = 5 + 16 * 1024 + 2048;
/// Records that may wait for their rest: a message of the handshake, which is as long as rustls takes it.
const KEPT_BYTES_MAX: usize = 64 * 1024;
/// Room for the records of [`AHEAD_BYTES_MAX`], and for what rustls says by itself.
const OUTGOING_BYTES: usize = AHEAD_BYTES_MAX + 4 * 1024;

thread_local! {
    /// Where records are received; empty while someone has it.
    static INCOMING: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Where records are made; empty while someone has it.
    static OUTGOING: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// One side of a TLS connection.
pub(crate) struct Tls {
    session: Session,
    /// Records that have arrived and are not used: the beginning of one, or those behind a full buffer.
    kept: Vec<u8>,
    /// Plain bytes of a record that was larger than the buffer.
    rest: Remainder,
    /// Records that the socket has not taken.
    unsent: Remainder,
    /// Whether the socket may have more bytes.
    pub more: bool,
    /// Whether the peer has sent its FIN: no further event will come, and its zero bytes must still be read.
    pub ended: bool,
    /// Whether nothing follows: the peer has said so, or the socket has ended.
    closed: bool,
    /// Whether the session has failed, and cannot be used for anything.
    failed: bool,
}

/// A buffer that the connections of this thread share, of at least `room` bytes.
fn borrow(shared: &'static std::thread::LocalKey<Cell<Vec<u8>>>, room: usize) -> Vec<u8> {
    let mut buffer = shared.take();
    if buffer.len() < room {
        buffer.resize(room, 0);
    }
    buffer
}

impl Tls {
    /// `None` if the configuration cannot be used.
    pub(crate) fn new(config: &Arc<ServerConfig>) -> Option<Tls> {
        Some(Tls {
            session: Session::new(config)?,
            kept: Vec::new(),
            rest: Remainder::default(),
            unsent: Remainder::default(),
            more: false,
            ended: false,
            closed: false,
            failed: false,
        })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Moves the handshake on; `Bytes` when it is complete.
    pub(crate) fn establish(&mut self, socket: &OwnedFd) -> Received {
        while self.session.is_handshaking() {
            match self.fill(socket, &mut []) {
                Received::Bytes(_) => (),
                other => return other,
            }
        }
        Received::Bytes(0)
    }

    /// Receives plain bytes into `buffer`. After `Bytes` there may be more if the buffer is full, or `more` is set.
    pub(crate) fn receive(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> Received {
        let mut count = self.rest.read(buffer);
        if count < buffer.len() && (!self.kept.is_empty() || !self.session.wants_read()) {
            match self.take_kept(socket, &mut buffer[count..], Say::Nothing) {
                Ok((more, _)) => count += more,
                Err(_) if count == 0 => return Received::Broken,
                Err(_) => (),
            }
        }
        while count == 0 {
            match self.fill(socket, buffer) {
                Received::Bytes(some) => count = some,
                other => return other,
            }
        }
        Received::Bytes(count)
    }

    /// Takes what the socket has, and answers what TLS itself has to answer. `Bytes` tells how many plain bytes came of it,
    /// which may be none.
    fn fill(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> Received {
        if self.failed {
            return Received::Broken;
        }
        if self.closed {
            return Received::End;
        }
        if !self.more {
            return Received::Nothing;
        }
        if self.kept.len() > KEPT_BYTES_MAX {
            return Received::Broken;
        }
        let mut incoming = borrow(&INCOMING, KEPT_BYTES_MAX + RECEIVE_BYTES);
        let received = self.receive_records(socket, &mut incoming, buffer);
        INCOMING.set(incoming);
        received
    }

    fn receive_records(&mut self, socket: &OwnedFd, incoming: &mut [u8], buffer: &mut [u8]) -> Received {
        let kept = self.kept.len();
        let arrived = loop {
            match recv(socket, &mut incoming[kept..kept + RECEIVE_BYTES], RecvFlags::empty()) {
                Err(Errno::INTR) => (),
                Ok((_, count)) => break count,
                Err(Errno::AGAIN) => {
                    self.more = false;
                    return Received::Nothing;
                }
                Err(_) => return Received::Broken,
            }
        };
        if arrived == 0 {
            // Without having said so, perhaps. Whether a message is complete, HTTP knows itself.
            (self.more, self.closed) = (false, true);
            return Received::End;
        }
        self.more = arrived == RECEIVE_BYTES || self.ended;
        incoming[..kept].copy_from_slice(&self.kept);
        let records = &mut incoming[..kept + arrived];
        let (passed, count) = self.pass(socket, records, buffer, Say::Nothing);
        // An exact copy: a connection that waits for the rest of a record keeps no more than that.
        self.kept = records[passed.used..].to_vec();
        if passed.failed { Received::Broken } else { Received::Bytes(count) }
    }

    /// Uses what was kept, as far as it goes and finds room. Returns how many plain bytes came of it, and whether `say` was said.
    fn take_kept(
        &mut self,
        socket: &OwnedFd,
        buffer: &mut [u8],
        say: Say<'_>,
    ) -> rustix::io::Result<(usize, bool)> {
        if self.failed {
            return Err(Errno::PIPE);
        }
        let mut records = std::mem::take(&mut self.kept);
        let (passed, count) = self.pass(socket, &mut records, buffer, say);
        if passed.used < records.len() {
            records.drain(..passed.used);
            self.kept = records;
        }
        if passed.failed { Err(Errno::IO) } else { Ok((count, passed.said)) }
    }

    /// Has the session take records, and sends what it says.
    fn pass(
        &mut self,
        socket: &OwnedFd,
        records: &mut [u8],
        buffer: &mut [u8],
        say: Say<'_>,
    ) -> (Passed, usize) {
        let mut outgoing = Outgoing { bytes: borrow(&OUTGOING, OUTGOING_BYTES), filled: 0 };
        // What is to be said has to wait for nothing, not even for whoever receives.
        let mut plain = Plain { buffer, count: 0, rest: &mut self.rest, all: say != Say::Nothing };
        let mut passed = pass(&mut self.session, records, &mut plain, &mut outgoing, say);
        let count = plain.count;
        self.closed |= passed.closed;
        let is_sent = outgoing.filled == 0 || self.send_records(socket, &outgoing.bytes[..outgoing.filled]);
        OUTGOING.set(outgoing.bytes);
        passed.failed |= !is_sent;
        self.failed |= passed.failed;
        (passed, count)
    }

    /// Sends records, behind those that wait. Returns false if the socket is broken.
    fn send_records(&mut self, socket: &OwnedFd, records: &[u8]) -> bool {
        if !self.unsent.is_empty() {
            self.unsent.push(records);
            return !matches!(self.push(socket), Err(error) if error != Errno::AGAIN);
        }
        let mut sent = 0;
        while sent < records.len() {
            match send(socket, &records[sent..], SendFlags::NOSIGNAL) {
                Ok(count) => sent += count,
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN) => {
                    self.unsent.push(&records[sent..]);
                    return true;
                }
                Err(_) => return false,
            }
        }
        true
    }

    /// Encrypts and sends as many of `bytes` as may be taken now.
    pub(crate) fn send(&mut self, socket: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
        self.push(socket)?;
        let some = &bytes[..bytes.len().min(AHEAD_BYTES_MAX)];
        match self.take_kept(socket, &mut [], Say::Bytes(some))? {
            (_, true) => Ok(some.len()),
            (_, false) => Err(Errno::IO),
        }
    }

    /// Whether the socket has not taken everything yet.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends the records that wait; EAGAIN if the socket does not take all of them.
    pub(crate) fn push(&mut self, socket: &OwnedFd) -> rustix::io::Result<()> {
        while !self.unsent.is_empty() {
            match send(socket, self.unsent.as_slice(), SendFlags::NOSIGNAL) {
                Ok(count) => self.unsent.consume(count),
                Err(Errno::INTR) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Tells the peer that nothing follows.
    pub(crate) fn end(&mut self, socket: &OwnedFd) {
        // If the socket takes no more, the peer does not read anyway. Before the end of the handshake nobody waits for it.
        if !self.session.is_handshaking() {
            let _ = self.take_kept(socket, &mut [], Say::End);
        }
        let _ = self.push(socket);
    }
}
