//! Transports above a socket: TLS on it, or a stream of a connection that has one.
//!
//! All of it is out of line, so that plain connections do not pay for it. Must not know what the bytes mean. Invariant:
//! as for every transport: EAGAIN only when something will report that there is room.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::io::{Errno, pread};
use rustls::ServerConfig;

use crate::transport::carried::Carried;
use crate::transport::over::Over;
use crate::transport::session::Session;
use crate::transport::tls::Tls;
use crate::transport::{Received, Transport};

/// A piece of a file that passes through memory.
const FILE_PIECE_BYTES: u64 = 64 * 1024;

/// Which kind it is.
impl Transport {
    /// A stream of another connection.
    pub(crate) fn of_stream(carried: Carried) -> Transport {
        let over = Some(Box::new(Over::Carried(carried)));
        Transport {
            socket: None,
            over,
            readable: true,
            half_closed: false,
            is_announced: false,
            broken: false,
        }
    }

    /// Whether it is a socket and nothing else.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.over.is_none()
    }

    /// Speaks TLS from the first byte on. Returns false if that is not possible.
    pub(crate) fn secure(&mut self, config: &Arc<ServerConfig>) -> bool {
        self.over = Tls::new(config).map(|tls| Box::new(Over::Tls(Box::new(tls))));
        self.over.is_some()
    }

    pub(crate) fn tls_mut(&mut self) -> Option<&mut Tls> {
        match self.over.as_deref_mut() {
            Some(Over::Tls(tls)) => Some(tls),
            _ => None,
        }
    }

    /// The TLS session on the socket, if there is one.
    pub(crate) fn session(&self) -> Option<&Session> {
        match self.over.as_deref() {
            Some(Over::Tls(tls)) => Some(tls.session()),
            _ => None,
        }
    }

    /// The stream that it is, if it is one.
    #[inline]
    pub(crate) fn carried(&self) -> Option<&Carried> {
        match self.over.as_deref() {
            Some(Over::Carried(carried)) => Some(carried),
            _ => None,
        }
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn carried_mut(&mut self) -> Option<&mut Carried> {
        match self.over.as_deref_mut() {
            Some(Over::Carried(carried)) => Some(carried),
            _ => None,
        }
    }

    /// Whether what is sent is encrypted on its way.
    pub(crate) fn is_secure(&self) -> bool {
        match self.over.as_deref() {
            None => false,
            Some(Over::Tls(_)) => true,
            Some(Over::Carried(carried)) => carried.link.is_secure,
        }
    }

    /// A stream has been told that something has changed.
    pub(crate) fn look(&mut self) {
        if let Some(Over::Carried(carried)) = self.over.as_deref_mut() {
            self.readable = true;
            self.broken |= carried.is_reset();
        }
    }
}

/// Bytes in, bytes out.
impl Transport {
    /// Moves TLS's handshake on; `Bytes` when the peer's own bytes may follow.
    pub(crate) fn establish(&mut self) -> Received {
        let (Some(Over::Tls(tls)), Some(socket)) = (self.over.as_deref_mut(), &self.socket) else {
            return Received::Bytes(0);
        };
        let received = tls.establish(socket);
        // Behind the handshake there may be bytes that no event will announce.
        self.readable = matches!(received, Received::Bytes(_));
        received
    }

    #[cold]
    #[inline(never)]
    pub(super) fn receive_over(&mut self, buffer: &mut [u8]) -> Received {
        let received = match (self.over.as_deref_mut(), &self.socket) {
            (Some(Over::Tls(tls)), Some(socket)) => {
                let received = tls.receive(socket, buffer);
                let is_full = matches!(received, Received::Bytes(count) if count == buffer.len() || tls.more);
                self.half_closed |= received == Received::End;
                self.readable = is_full;
                received
            }
            (Some(Over::Carried(carried)), _) => {
                let received = carried.receive(buffer);
                self.readable = matches!(received, Received::Bytes(_));
                received
            }
            _ => Received::Nothing,
        };
        self.broken |= received == Received::Broken;
        received
    }

    #[cold]
    #[inline(never)]
    pub(super) fn send_over(&mut self, bytes: &[u8], more: bool) -> rustix::io::Result<usize> {
        match (self.over.as_deref_mut(), &self.socket) {
            (Some(Over::Tls(tls)), Some(socket)) => tls.send(socket, bytes),
            (Some(Over::Carried(carried)), _) => carried.send(bytes, more),
            _ => Err(Errno::IO),
        }
    }

    /// The file passes through memory.
    #[cold]
    #[inline(never)]
    pub(super) fn send_file_over(
        &mut self,
        file: &OwnedFd,
        offset: &mut u64,
        length: u64,
    ) -> rustix::io::Result<usize> {
        let room = match (self.over.as_deref_mut(), &self.socket) {
            (Some(Over::Tls(tls)), Some(socket)) => {
                tls.push(socket)?;
                FILE_PIECE_BYTES
            }
            (Some(Over::Carried(carried)), _) => carried.room(length)?,
            _ => return Err(Errno::IO),
        };
        let mut piece = Vec::with_capacity(length.min(room).min(FILE_PIECE_BYTES) as usize);
        if pread(file, spare_capacity(&mut piece), *offset)? == 0 {
            return Ok(0);
        }
        let taken = match self.over.as_deref_mut() {
            Some(Over::Carried(carried)) => carried.send_piece(piece)?,
            _ => self.send_over(&piece, true)?,
        };
        *offset += taken as u64;
        Ok(taken)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn settle_over(&mut self) -> rustix::io::Result<()> {
        match (self.over.as_deref_mut(), &self.socket) {
            (Some(Over::Tls(tls)), Some(socket)) => tls.push(socket),
            (Some(Over::Carried(carried)), _) => carried.settle(),
            _ => Ok(()),
        }
    }

    /// The connection is about to be closed: TLS wants that to be said.
    pub(crate) fn say_goodbye(&mut self) {
        if let (Some(Over::Tls(tls)), Some(socket)) = (self.over.as_deref_mut(), &self.socket) {
            tls.end(socket);
        }
    }

    /// Nothing more is sent: a stream says that with its last frame.
    pub(crate) fn end_stream(&mut self) {
        if let Some(Over::Carried(carried)) = self.over.as_deref_mut() {
            carried.end();
            self.broken |= carried.settle().is_err();
        }
    }
}
