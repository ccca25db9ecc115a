//! TLS over a socket: what has arrived becomes plain bytes, what is sent becomes records.
//!
//! Must not know certificates, nor who speaks above: rustls has the protocol, and its configuration comes with the
//! listener. Invariants: at most [`AHEAD_BYTES_MAX`] of what was taken for sending lies encrypted here, and nothing
//! more is taken before the socket has all of it. `more` stays set until the socket has shown that nothing is left.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use rustls::{ServerConfig, ServerConnection};

use crate::transport::received::Received;

/// Plain bytes that are encrypted at once: four full records.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// One side of a TLS connection.
pub(crate) struct Tls {
    session: ServerConnection,
    /// Whether the socket may have more bytes.
    pub more: bool,
    /// Whether the peer has sent its FIN: no further event will come, and its zero bytes must still be read.
    pub ended: bool,
}

/// The socket as rustls wants it.
struct Socket<'s> {
    socket: &'s OwnedFd,
    /// Whether the last read got less than there was room for.
    short: bool,
}

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len();
        let (_, count) = recv(self.socket, &mut *buffer, RecvFlags::empty())?;
        self.short = count < room;
        Ok(count)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.socket, bytes, SendFlags::NOSIGNAL)?)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        // An answer is mostly one record, for which the shorter call does.
        if let [part] = parts {
            return self.write(part);
        }
        Ok(sendmsg(self.socket, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tls {
    /// `None` if the configuration cannot be used.
    pub(crate) fn new(config: &Arc<ServerConfig>) -> Option<Tls> {
        let session = ServerConnection::new(Arc::clone(config)).ok()?;
        Some(Tls { session, more: false, ended: false })
    }

    pub(crate) fn session(&self) -> &ServerConnection {
        &self.session
    }

    /// Moves the handshake on; `Bytes` when it is complete.
    pub(crate) fn establish(&mut self, socket: &OwnedFd) -> Received {
        while self.session.is_handshaking() {
            match self.fill(socket) {
                Received::Bytes(_) => (),
                other => return other,
            }
        }
        Received::Bytes(0)
    }

    /// Receives plain bytes into `buffer`. After `Bytes` there may be more if the buffer is full, or `more` is set.
    pub(crate) fn receive(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> Received {
        loop {
            match self.session.reader().read(buffer) {
                Ok(0) => return Received::End,
                Ok(count) => return Received::Bytes(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                // The peer has closed the socket without saying so. Whether a message is complete, HTTP knows itself.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Received::End,
                Err(_) => return Received::Broken,
            }
            match self.fill(socket) {
                Received::Bytes(_) => (),
                other => return other,
            }
        }
    }

    /// Takes what the socket has, and answers what TLS itself has to answer.
    fn fill(&mut self, socket: &OwnedFd) -> Received {
        if !self.more {
            return Received::Nothing;
        }
        let mut source = Socket { socket, short: false };
        match self.session.read_tls(&mut source) {
            Ok(0) => {
                self.more = false;
                if self.session.is_handshaking() {
                    return Received::End;
                }
            }
            Ok(_) => self.more = !source.short || self.ended,
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => {
                    self.more = false;
                    return Received::Nothing;
                }
                io::ErrorKind::Interrupted => return Received::Bytes(0),
                _ => return Received::Broken,
            },
        }
        if self.session.process_new_packets().is_err() {
            // The alert says why; whether it arrives changes nothing.
            let _ = self.push(socket);
            return Received::Broken;
        }
        match self.push(socket) {
            Ok(()) | Err(Errno::AGAIN) => Received::Bytes(0),
            Err(_) => Received::Broken,
        }
    }

    /// Encrypts and sends as many of `bytes` as may be taken now.
    pub(crate) fn send(&mut self, socket: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
        self.push(socket)?;
        let some = &bytes[..bytes.len().min(AHEAD_BYTES_MAX)];
        let taken = self.session.writer().write(some).map_err(|_| Errno::IO)?;
        match self.push(socket) {
            Ok(()) | Err(Errno::AGAIN) => Ok(taken),
            Err(error) => Err(error),
        }
    }

    /// Whether the socket has not taken everything yet.
    pub(crate) fn has_unsent(&self) -> bool {
        self.session.wants_write()
    }

    /// Sends the records that wait; EAGAIN if the socket does not take all of them.
    pub(crate) fn push(&mut self, socket: &OwnedFd) -> rustix::io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Socket { socket, short: false }) {
                Ok(_) => (),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
        Ok(())
    }

    /// Tells the peer that nothing follows.
    pub(crate) fn end(&mut self, socket: &OwnedFd) {
        self.session.send_close_notify();
        // If the socket takes no more, the peer does not read anyway.
        let _ = self.push(socket);
    }
}
