//! What TLS does with records: those that have arrived become plain bytes, and what it has to say becomes others.
//!
//! Must not know sockets. rustls has the protocol and holds no buffers: the records lie where the caller has them, which
//! MUST hand in again, unchanged and in order, what was not used. Invariant: everything that rustls wants to say is in
//! [`Outgoing`] when a pass ends.

use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, WriteTraffic};

use crate::transport::remainder::Remainder;
use crate::transport::session::Session;

/// Records that leave after a pass.
pub(super) struct Outgoing {
    /// Its length is the room there is.
    pub bytes: Vec<u8>,
    /// How many bytes are records.
    pub filled: usize,
}

/// Where plain bytes go.
pub(super) struct Plain<'b> {
    pub buffer: &'b mut [u8],
    /// How many bytes the buffer has.
    pub count: usize,
    /// For the rest of a record that does not fit.
    pub rest: &'b mut Remainder,
    /// Whether all go there if the buffer is full; otherwise they stay records.
    pub all: bool,
}

/// What is to be sent, once the session lets it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Say<'b> {
    Nothing,
    /// Plain bytes, which are taken whole.
    Bytes(&'b [u8]),
    /// Nothing follows.
    End,
}

/// What a pass has done.
pub(super) struct Passed {
    /// How many bytes of the records are used.
    pub used: usize,
    /// Whether what was to be said has been said.
    pub said: bool,
    /// Whether the peer has said that nothing follows.
    pub closed: bool,
    /// Whether the peer, or what it sent, ends the session. An alert to send may say why.
    pub failed: bool,
}

impl Outgoing {
    fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// Makes room, if there is less than `wanted`.
    fn grow(&mut self, wanted: usize) {
        self.bytes.resize(self.bytes.len().max(self.filled + wanted), 0);
    }

    fn say(&mut self, mut traffic: WriteTraffic<'_, impl Sized>, say: Say<'_>) -> bool {
        loop {
            let written = match say {
                Say::Nothing => Ok(0),
                Say::Bytes(bytes) => traffic.encrypt(bytes, self.room()),
                Say::End => traffic.queue_close_notify(self.room()),
            };
            match written {
                Ok(count) => {
                    self.filled += count;
                    return true;
                }
                Err(EncryptError::InsufficientSize(short)) => self.grow(short.required_size),
                Err(EncryptError::EncryptExhausted) => return false,
            }
        }
    }
}

impl Plain<'_> {
    fn is_full(&self) -> bool {
        self.count == self.buffer.len() && !self.all
    }

    fn take(&mut self, payload: &[u8]) {
        let (now, later) = payload.split_at(payload.len().min(self.buffer.len() - self.count));
        self.buffer[self.count..self.count + now.len()].copy_from_slice(now);
        self.count += now.len();
        if !later.is_empty() {
            self.rest.push(later);
        }
    }
}

/// Has the session take `records`, until they are used up or `plain` is full.
pub(super) fn pass(
    session: &mut Session,
    records: &mut [u8],
    plain: &mut Plain<'_>,
    outgoing: &mut Outgoing,
    say: Say<'_>,
) -> Passed {
    let opens = session.is_handshaking();
    let mut passed = Passed { used: 0, said: false, closed: false, failed: false };
    loop {
        let status = session.connection.process_tls_records(&mut records[passed.used..]);
        passed.used += status.discard;
        match status.state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                while !plain.is_full()
                    && let Some(Ok(record)) = traffic.next_record()
                {
                    plain.take(record.payload);
                    passed.used += record.discard;
                }
                // Most often that was all: another round would only say so.
                let is_all = passed.used == records.len() && say == Say::Nothing && !session.wants_write();
                if plain.is_full() || is_all {
                    break;
                }
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                if !encode(outgoing, |room| data.encode(room)) {
                    passed.failed = true;
                    break;
                }
            }
            // The caller sends it when the pass has ended.
            Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
            Ok(ConnectionState::PeerClosed) => passed.closed = true,
            Ok(ConnectionState::WriteTraffic(traffic)) => {
                passed.said = outgoing.say(traffic, say);
                break;
            }
            Ok(ConnectionState::BlockedHandshake | ConnectionState::Closed) => break,
            // Nobody may send early data: the configuration has none.
            Ok(_) | Err(_) => {
                passed.failed = true;
                break;
            }
        }
    }
    if passed.failed {
        take_alerts(session, &mut records[passed.used..], outgoing);
    }
    if opens {
        session.take_name();
    }
    passed
}

/// What a session that has failed has to say.
fn take_alerts(session: &mut Session, records: &mut [u8], outgoing: &mut Outgoing) {
    while session.wants_write() {
        match session.connection.process_tls_records(records).state {
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                if !encode(outgoing, |room| data.encode(room)) {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// Adds what `encode` writes.
fn encode(outgoing: &mut Outgoing, mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>) -> bool {
    loop {
        match encode(outgoing.room()) {
            Ok(count) => {
                outgoing.filled += count;
                return true;
            }
            Err(EncodeError::InsufficientSize(short)) => outgoing.grow(short.required_size),
            Err(EncodeError::AlreadyEncoded) => return false,
        }
    }
}
