//! A connection on its way from one worker to another: its descriptor, and the bytes that were already read from it.
//!
//! Must not know why it moves, nor what its bytes mean. Invariant: one connection is one packet (SOCK_SEQPACKET keeps
//! the borders, unix(7)), so it arrives as a whole, at one worker. Nobody waits here: a relay that is full takes
//! nothing.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair, sockopt,
};
use weft_rt::Nanos;
use weft_rt::ledger::Offer;

/// A connection from which more was read stays where it is.
pub(crate) const PARCEL_BYTES_MAX: usize = 64 * 1024;
/// Bytes before those of the connection.
const LABEL_BYTES: usize = 16;
/// The room that the sender asks for; the kernel grants up to net.core.wmem_max.
const ROOM_BYTES: usize = 4 << 20;

/// The sockets through which workers pass connections on. All workers have both.
#[derive(Debug)]
pub struct Relay {
    /// Where connections go in.
    pub sending: OwnedFd,
    /// Where any worker takes them out.
    pub receiving: OwnedFd,
}

impl Relay {
    /// A new one. Both ends are non-blocking and closed on exec.
    ///
    /// # Errors
    /// Those of socketpair(2).
    pub fn new() -> io::Result<Relay> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (sending, receiving) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // With less room fewer connections are on their way at a time.
        let _ = sockopt::set_socket_send_buffer_size(&sending, ROOM_BYTES);
        Ok(Relay { sending, receiving })
    }

    /// The same relay for another process.
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub fn try_clone(&self) -> io::Result<Relay> {
        Ok(Relay { sending: self.sending.try_clone()?, receiving: self.receiving.try_clone()? })
    }
}

/// The bit beside the length of an answer that says that the connection ends with it.
const ENDS: u32 = 1 << 31;

/// The bit beside the count of requests that says that the request which follows had begun in a worker that has failed.
pub(crate) const RETRIED: u32 = 1 << 31;

/// Where the number of a connection's service begins in its word, above the count of its requests and below [`RETRIED`].
const SERVICE_SHIFT: u32 = 24;
/// A count that is higher is told as this.
const REQUESTS_MAX: u32 = (1 << SERVICE_SHIFT) - 1;
/// Services that a word can name; connections of others stay where they are.
pub(crate) const SERVICES_MAX: u32 = 1 << (31 - SERVICE_SHIFT);

/// What the next owner of a connection is told: how many requests it has had, and the number of its service.
pub(crate) fn word(requests: u32, service: u32) -> u32 {
    requests.min(REQUESTS_MAX) | (service << SERVICE_SHIFT)
}

/// The number of a service in a word.
pub(crate) fn service_of(word: u32) -> u32 {
    (word & !RETRIED) >> SERVICE_SHIFT
}

/// What is known of a connection besides its descriptor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parcel {
    /// What is still to be sent for earlier requests.
    pub answer: Vec<u8>,
    /// Whether the connection ends with that.
    pub ends: bool,
    /// What was read of its next request.
    pub bytes: Vec<u8>,
    /// Since when that request waits; 0 if it has not begun to arrive. All processes have the same clock.
    pub since: Nanos,
    /// Requests that were answered on it.
    pub requests: u32,
    /// Whether its next request had begun in a worker that has failed.
    pub is_retried: bool,
    /// The number of its service.
    pub service: u32,
}

/// Passes a connection on.
///
/// # Errors
/// `AGAIN` if the relay is full; the connection is then still the caller's.
pub(crate) fn send(relay: &OwnedFd, connection: BorrowedFd<'_>, offer: &Offer) -> Result<(), Errno> {
    send_bytes(relay, connection, offer, &offer.bytes[offer.done..])
}

/// The same with bytes that lie elsewhere.
///
/// # Errors
/// As for [`send`].
pub(crate) fn send_bytes(
    relay: &OwnedFd,
    connection: BorrowedFd<'_>,
    offer: &Offer,
    bytes: &[u8],
) -> Result<(), Errno> {
    let mut label = [0; LABEL_BYTES];
    let answer = offer.answer.len() as u32 | if offer.ends { ENDS } else { 0 };
    label[..8].copy_from_slice(&offer.since.to_le_bytes());
    label[8..12].copy_from_slice(&offer.word.to_le_bytes());
    label[12..].copy_from_slice(&answer.to_le_bytes());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let connections = [connection];
    loop {
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&connections));
        let parts = [IoSlice::new(&label), IoSlice::new(&offer.answer), IoSlice::new(bytes)];
        match sendmsg(relay, &parts, &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Err(Errno::INTR) => (),
            other => return other.map(drop),
        }
    }
}

/// Takes the next connection.
///
/// # Errors
/// `AGAIN` if there is none. Errors about descriptors, as for accept(2), leave it there.
pub(crate) fn receive(relay: &OwnedFd) -> Result<(OwnedFd, Parcel), Errno> {
    // Without a free number the kernel would drop the connection with its packet (unix(7)); so it stays in the relay.
    drop(relay.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE))?);
    let mut label = [0; LABEL_BYTES];
    let mut bytes = vec![0; PARCEL_BYTES_MAX];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut label), IoSliceMut::new(&mut bytes)];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(relay, &mut parts, &mut control, flags);
        let connection = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut connections) => connections.next(),
            _ => None,
        });
        match (received.map(|received| received.bytes), connection) {
            (Err(Errno::INTR), _) => (),
            (Err(error), _) => return Err(error),
            (Ok(length), Some(connection)) if length >= LABEL_BYTES => {
                bytes.truncate(length - LABEL_BYTES);
                let (since, rest) = label.split_at(8);
                let since = since.try_into().map_or(0, Nanos::from_le_bytes);
                let number = |part: &[u8]| part.try_into().map_or(0, u32::from_le_bytes);
                let (word, answer) = (number(&rest[..4]), number(&rest[4..]));
                let rest = bytes.split_off(bytes.len().min((answer & !ENDS) as usize));
                let ends = answer & ENDS != 0;
                let (requests, service) = (word & REQUESTS_MAX, service_of(word));
                let is_retried = word & RETRIED != 0;
                let parcel =
                    Parcel { answer: bytes, ends, bytes: rest, since, requests, is_retried, service };
                return Ok((connection, parcel));
            }
            // All senders are gone.
            (Ok(0), None) => return Err(Errno::AGAIN),
            // Another thread has taken that number just now.
            (Ok(_), _) => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_connection_arrives_once_with_its_bytes() {
        let relay = Relay::new().unwrap();
        assert_eq!(receive(&relay.receiving).unwrap_err(), Errno::AGAIN);
        for bytes in [vec![], b"GET / HTTP/1.1\r\n".to_vec(), vec![b'x'; PARCEL_BYTES_MAX]] {
            let (near, mut far) = UnixStream::pair().unwrap();
            let mut offer = Offer { bytes: bytes.clone(), since: 5, word: 6, ..Offer::default() };
            send(&relay.sending, near.as_fd(), &offer).unwrap();
            let (connection, parcel) = receive(&relay.receiving).unwrap();
            let mut expected = Parcel { bytes, since: 5, requests: 6, ..Parcel::default() };
            assert_eq!(parcel, expected);
            drop(connection);
            if offer.bytes.len() == 16 {
                (offer.done, offer.answer, offer.ends) = (4, b"HTTP/1.1 200".to_vec(), true);
                expected = Parcel {
                    answer: offer.answer.clone(),
                    ends: true,
                    bytes: b"/ HTTP/1.1\r\n".to_vec(),
                    ..expected
                };
            }
            send(&relay.sending, near.as_fd(), &offer).unwrap();
            offer.word = word(u32::MAX, SERVICES_MAX - 1) | RETRIED;
            send(&relay.sending, near.as_fd(), &offer).unwrap();
            drop(near);
            assert_eq!(receive(&relay.receiving).unwrap().1, expected);
            let (connection, parcel) = receive(&relay.receiving).unwrap();
            let (requests, service) = (REQUESTS_MAX, SERVICES_MAX - 1);
            assert_eq!(parcel, Parcel { requests, service, is_retried: true, ..expected });
            UnixStream::from(connection).write_all(b"answer").unwrap();
            let mut text = String::new();
            far.read_to_string(&mut text).unwrap();
            assert_eq!(text, "answer");
        }
        assert_eq!(receive(&relay.receiving).unwrap_err(), Errno::AGAIN);
    }

    #[test]
    fn a_full_relay_takes_nothing_and_keeps_the_order() {
        let relay = Relay::new().unwrap();
        let (near, _far) = UnixStream::pair().unwrap();
        let sent = (0..100_000u32)
            .take_while(|number| {
                send(&relay.sending, near.as_fd(), &Offer { word: *number, ..Offer::default() }).is_ok()
            })
            .count();
        assert!(sent > 50, "{sent}");
        for number in 0..sent {
            assert_eq!(receive(&relay.receiving).unwrap().1.requests as usize, number);
        }
        send(&relay.sending, near.as_fd(), &Offer::default()).unwrap();
    }
}
