//! The messages between master and worker, and the socket pair that carries them.
//!
//! Must not know what either side does with a message. Invariant: one message is one packet of at most
//! [`PACKET_BYTES_MAX`] bytes (SOCK_SEQPACKET preserves the boundaries, unix(7)); neither end ever blocks; a lost
//! peer is [`Received::Closed`], from which a worker learns that its master died.

use std::cell::RefCell;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// The longest packet; longer texts are truncated.
pub const PACKET_BYTES_MAX: usize = 8 << 10;

/// A worker's messages to its master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToMaster {
    /// The application is loaded; connections are being accepted.
    Ready,
    /// Replace me; I continue until the replacement is ready and `Drain` comes.
    Recycle {
        /// The reason, for the log.
        reason: String,
    },
    /// What the worker is doing.
    Status(Status),
    /// Where it is stuck, and its current requests: the answer of a blocked worker to SIGUSR2.
    Stood {
        /// A part of the text; more may follow.
        text: String,
    },
    /// It is about to die of a signal.
    Crashed {
        /// Of which one, in which request, and what became of the others.
        text: String,
    },
    /// One computation holds its loop, and what may leave it does.
    Held,
    /// Its loop runs again.
    Free,
    /// It has heard `Drain`, and accepts no more connections.
    AcceptsNoMore,
    /// It cannot serve; the text is for the operator. The worker then exits.
    Fatal {
        /// What is wrong and what to do.
        message: String,
    },
}

/// A worker's figures at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    /// Requests answered since the worker started.
    pub requests: u64,
    /// Requests running now.
    pub live: u64,
    /// Connections open now.
    pub connections: u64,
    /// Requests waiting for a coroutine now.
    pub queued: u64,
    /// Resident memory in bytes.
    pub memory_bytes: u64,
    /// Calls that blocked the whole worker since it started.
    pub blocked: u64,
}

/// A master's messages to its worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToWorker {
    /// Accept nothing more, finish the running requests, exit 0; cancel the rest after the deadline.
    Drain {
        /// Milliseconds from now.
        deadline_ms: u64,
    },
    /// The `Drain` that follows replaces the worker by one with new code: its tunnels stay for this long. After another `Drain`
    /// they leave at once.
    Keep {
        /// Milliseconds from that `Drain` on.
        ms: u64,
    },
    /// The same as `Drain` for a worker beside which others of its image go on: connections that are idle are theirs from now on.
    Leave {
        /// Milliseconds from now.
        deadline_ms: u64,
    },
    /// Exit now.
    Stop,
    /// Reopen the log files.
    ReopenLogs,
    /// Also accept from the socket in this message, because its slot's worker cannot
    /// ([`ControlEnd::take_socket`]).
    StandIn {
        /// The slot to which it belongs.
        slot: u64,
        /// What is served there: its place among [`crate::config::Config::services`].
        service: u64,
    },
    /// Return the sockets of this slot to its own worker.
    StopStandingIn {
        /// The slot, or [`EVERY_SLOT`].
        slot: u64,
    },
    /// Others accept from the same sockets: take one connection at a time, because another worker may be free for the next.
    AcceptSingly,
    /// Take as many connections at once as there are.
    AcceptAll,
}

/// All slots but the worker's own.
pub const EVERY_SLOT: u64 = u64::MAX;

/// The result of reading the pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received<M> {
    /// A message.
    Message(M),
    /// Nothing yet.
    Nothing,
    /// The peer is gone.
    Closed,
}

/// The worker's end.
#[derive(Debug)]
pub struct ControlEnd {
    fd: OwnedFd,
    /// The socket in the latest message.
    socket: RefCell<Option<OwnedFd>>,
}

/// The master's end.
#[derive(Debug)]
pub struct MasterEnd(OwnedFd);

/// Tells the master whether the loop is held.
pub type HoldReporter = Box<dyn FnMut(bool) + Send>;

/// A connected pair, both ends non-blocking and closed on exec.
///
/// # Errors
/// The kernel's error, if no descriptor is left.
pub fn pair() -> io::Result<(MasterEnd, ControlEnd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (master, worker) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    Ok((MasterEnd(master), ControlEnd { fd: worker, socket: RefCell::default() }))
}

impl ControlEnd {
    /// The descriptor to watch for readability.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The next message from the master.
    pub fn receive(&self) -> Received<ToWorker> {
        let (received, socket) = receive(&self.fd, ToWorker::decode);
        self.socket.replace(socket);
        received
    }

    /// A function for another thread that reports whether the loop is held, and the descriptor that it has for that.
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub fn hold_reporter(&self) -> io::Result<(RawFd, HoldReporter)> {
        let own = self.fd.try_clone()?;
        let number = own.as_raw_fd();
        let report = move |is_held: bool| {
            let message = if is_held { ToMaster::Held } else { ToMaster::Free };
            // If the socket is full, the master does not read; without it nobody needs to know.
            let _ = send_packet(&own, &message.encode(), None);
        };
        Ok((number, Box::new(report)))
    }

    /// The socket of the last received message.
    pub fn take_socket(&self) -> Option<OwnedFd> {
        self.socket.take()
    }

    /// Sends without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if the master has not read earlier messages (a [`Status`] may then be skipped), `BrokenPipe` if it
    /// is gone.
    pub fn send(&self, message: &ToMaster) -> io::Result<()> {
        send_packet(&self.fd, &message.encode(), None)
    }
}

impl MasterEnd {
    /// Takes over an end that survived a reload.
    pub fn adopt(fd: OwnedFd) -> Self {
        MasterEnd(fd)
    }

    /// The descriptor to watch for readability.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The next message from the worker.
    pub fn receive(&self) -> Received<ToMaster> {
        receive(&self.0, ToMaster::decode).0
    }

    /// Sends without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if the worker does not read, `BrokenPipe` if it is gone.
    pub fn send(&self, message: &ToWorker) -> io::Result<()> {
        send_packet(&self.0, &message.encode(), None)
    }

    /// Sends a message with a socket.
    ///
    /// # Errors
    /// As for [`MasterEnd::send`].
    pub fn send_with(&self, message: &ToWorker, socket: BorrowedFd<'_>) -> io::Result<()> {
        send_packet(&self.0, &message.encode(), Some(socket))
    }
}

fn send_packet(fd: &OwnedFd, packet: &[u8], socket: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let sockets = socket.map(|socket| [socket]);
    loop {
        let mut control = SendAncillaryBuffer::new(&mut space);
        if let Some(sockets) = &sockets {
            control.push(SendAncillaryMessage::ScmRights(sockets));
        }
        match sendmsg(fd, &[IoSlice::new(packet)], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Err(Errno::INTR) => continue,
            other => return other.map(|_| ()).map_err(io::Error::from),
        }
    }
}

/// The next message, and its socket. The kernel closes sockets that are not requested, so the master, which receives
/// none, cannot be flooded with them.
fn receive<M>(fd: &OwnedFd, decode: fn(&[u8]) -> Option<M>) -> (Received<M>, Option<OwnedFd>) {
    let mut packet = [0; PACKET_BYTES_MAX];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(fd, &mut [IoSliceMut::new(&mut packet)], &mut control, flags);
        let socket = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
            _ => None,
        });
        match received.map(|received| received.bytes) {
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => return (Received::Nothing, None),
            Ok(0) | Err(_) => return (Received::Closed, None),
            // A packet of another version of weft is ignored (a reload may change the binary).
            Ok(length) => match decode(&packet[..length]) {
                Some(message) => return (Received::Message(message), socket),
                None => continue,
            },
        }
    }
}

// A packet is one byte of kind, then the fields: numbers as eight little-endian bytes, a text as the rest.
const READY: u8 = 1;
const RECYCLE: u8 = 2;
const STATUS: u8 = 3;
const FATAL: u8 = 4;
/// A signal handler builds this packet itself.
pub const STOOD: u8 = 5;
const HELD: u8 = 6;
const FREE: u8 = 7;
/// A signal handler builds this packet itself.
pub const CRASHED: u8 = 8;
const ACCEPTS_NO_MORE: u8 = 9;
const DRAIN: u8 = 16;
const STOP: u8 = 17;
const REOPEN_LOGS: u8 = 18;
const STAND_IN: u8 = 19;
const STOP_STANDING_IN: u8 = 20;
const LEAVE: u8 = 21;
const ACCEPT_SINGLY: u8 = 22;
const ACCEPT_ALL: u8 = 23;
const KEEP: u8 = 24;

impl ToMaster {
    fn encode(&self) -> Vec<u8> {
        match self {
            ToMaster::Ready => vec![READY],
            ToMaster::Held => vec![HELD],
            ToMaster::Free => vec![FREE],
            ToMaster::AcceptsNoMore => vec![ACCEPTS_NO_MORE],
            ToMaster::Recycle { reason } => with_text(RECYCLE, reason),
            ToMaster::Fatal { message } => with_text(FATAL, message),
            ToMaster::Stood { text } => with_text(STOOD, text),
            ToMaster::Crashed { text } => with_text(CRASHED, text),
            ToMaster::Status(s) => {
                let all = [s.requests, s.live, s.connections, s.queued, s.memory_bytes, s.blocked];
                with_numbers(STATUS, &all)
            }
        }
    }

    fn decode(packet: &[u8]) -> Option<Self> {
        let (kind, rest) = packet.split_first()?;
        match *kind {
            READY => Some(ToMaster::Ready),
            HELD => Some(ToMaster::Held),
            FREE => Some(ToMaster::Free),
            ACCEPTS_NO_MORE => Some(ToMaster::AcceptsNoMore),
            RECYCLE => Some(ToMaster::Recycle { reason: text(rest) }),
            FATAL => Some(ToMaster::Fatal { message: text(rest) }),
            CRASHED => Some(ToMaster::Crashed { text: text(rest) }),
            STOOD => Some(ToMaster::Stood { text: text(rest) }),
            STATUS => {
                let [requests, live, connections, queued, memory_bytes, blocked] = numbers(rest)?;
                Some(ToMaster::Status(Status { requests, live, connections, queued, memory_bytes, blocked }))
            }
            _ => None,
        }
    }
}

impl ToWorker {
    fn encode(&self) -> Vec<u8> {
        match self {
            ToWorker::Drain { deadline_ms } => with_numbers(DRAIN, &[*deadline_ms]),
            ToWorker::Keep { ms } => with_numbers(KEEP, &[*ms]),
            ToWorker::Leave { deadline_ms } => with_numbers(LEAVE, &[*deadline_ms]),
            ToWorker::Stop => vec![STOP],
            ToWorker::ReopenLogs => vec![REOPEN_LOGS],
            ToWorker::StandIn { slot, service } => with_numbers(STAND_IN, &[*slot, *service]),
            ToWorker::StopStandingIn { slot } => with_numbers(STOP_STANDING_IN, &[*slot]),
            ToWorker::AcceptSingly => vec![ACCEPT_SINGLY],
            ToWorker::AcceptAll => vec![ACCEPT_ALL],
        }
    }

    fn decode(packet: &[u8]) -> Option<Self> {
        let (kind, rest) = packet.split_first()?;
        match *kind {
            DRAIN => numbers(rest).map(|[deadline_ms]| ToWorker::Drain { deadline_ms }),
            KEEP => numbers(rest).map(|[ms]| ToWorker::Keep { ms }),
            LEAVE => numbers(rest).map(|[deadline_ms]| ToWorker::Leave { deadline_ms }),
            STOP => Some(ToWorker::Stop),
            REOPEN_LOGS => Some(ToWorker::ReopenLogs),
            STAND_IN => numbers(rest).map(|[slot, service]| ToWorker::StandIn { slot, service }),
            STOP_STANDING_IN => numbers(rest).map(|[slot]| ToWorker::StopStandingIn { slot }),
            ACCEPT_SINGLY => Some(ToWorker::AcceptSingly),
            ACCEPT_ALL => Some(ToWorker::AcceptAll),
            _ => None,
        }
    }
}

fn with_text(kind: u8, text: &str) -> Vec<u8> {
    let end = text.floor_char_boundary(PACKET_BYTES_MAX - 1);
    [&[kind], &text.as_bytes()[..end]].concat()
}

fn with_numbers(kind: u8, numbers: &[u64]) -> Vec<u8> {
    let mut packet = vec![kind];
    numbers.iter().for_each(|n| packet.extend(n.to_le_bytes()));
    packet
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn numbers<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    let (chunks, []) = bytes.as_chunks::<8>() else { return None };
    if chunks.len() != N {
        return None;
    }
    numbers.iter_mut().zip(chunks).for_each(|(n, chunk)| *n = u64::from_le_bytes(*chunk));
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_arrives_as_it_was_sent() {
        let (master, worker) = pair().unwrap();
        let status =
            Status { requests: u64::MAX, live: 1, connections: 2, queued: 3, memory_bytes: 4, blocked: 5 };
        let up = [
            ToMaster::Ready,
            ToMaster::Held,
            ToMaster::Free,
            ToMaster::AcceptsNoMore,
            ToMaster::Recycle { reason: "10000 requests".into() },
            ToMaster::Status(status),
            ToMaster::Fatal { message: "app.php: é\nline 2".into() },
            ToMaster::Fatal { message: String::new() },
            ToMaster::Stood { text: "sleep() at app.php:3".into() },
            ToMaster::Crashed { text: "crashes by SIGSEGV".into() },
        ];
        up.iter().for_each(|message| worker.send(message).unwrap());
        for message in up {
            assert_eq!(master.receive(), Received::Message(message));
        }
        assert_eq!(master.receive(), Received::Nothing);
        let down = [
            ToWorker::Drain { deadline_ms: 30_000 },
            ToWorker::Leave { deadline_ms: 1 },
            ToWorker::Keep { ms: u64::MAX },
            ToWorker::Stop,
            ToWorker::ReopenLogs,
            ToWorker::AcceptSingly,
            ToWorker::AcceptAll,
        ];
        for message in down {
            master.send(&message).unwrap();
            assert_eq!(worker.receive(), Received::Message(message));
        }
    }

    #[test]
    fn a_socket_comes_with_its_message_only() {
        let (master, worker) = pair().unwrap();
        let (own, peer) = std::os::unix::net::UnixStream::pair().unwrap();
        master.send_with(&ToWorker::StandIn { slot: 3, service: 1 }, own.as_fd()).unwrap();
        master.send(&ToWorker::StopStandingIn { slot: 3 }).unwrap();
        drop(own);
        assert_eq!(worker.receive(), Received::Message(ToWorker::StandIn { slot: 3, service: 1 }));
        let socket = std::os::unix::net::UnixStream::from(worker.take_socket().unwrap());
        assert!(worker.take_socket().is_none());
        assert_eq!(worker.receive(), Received::Message(ToWorker::StopStandingIn { slot: 3 }));
        assert!(worker.take_socket().is_none());
        drop(socket);
        assert_eq!(io::Read::read(&mut &peer, &mut [0]).unwrap(), 0, "somebody kept a copy");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let (master, worker) = pair().unwrap();
        worker.send(&ToMaster::Fatal { message: "é".repeat(PACKET_BYTES_MAX) }).unwrap();
        let Received::Message(ToMaster::Fatal { message }) = master.receive() else { panic!("no message") };
        assert_eq!(message, "é".repeat((PACKET_BYTES_MAX - 1) / 2));
    }

    #[test]
    fn a_dead_peer_is_told_after_its_last_words() {
        let (master, worker) = pair().unwrap();
        worker.send(&ToMaster::Fatal { message: "bye".into() }).unwrap();
        drop(worker);
        assert_eq!(master.receive(), Received::Message(ToMaster::Fatal { message: "bye".into() }));
        assert_eq!(master.receive(), Received::Closed);
        assert_eq!(master.send(&ToWorker::Stop).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn an_unread_peer_never_blocks_the_sender() {
        let (_master, worker) = pair().unwrap();
        let full = (0..1_000_000).find_map(|_| worker.send(&ToMaster::Ready).err());
        assert_eq!(full.unwrap().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn unknown_and_malformed_packets_are_passed_over() {
        let (master, worker) = pair().unwrap();
        for packet in [&[99u8][..], &[STATUS, 1, 2], &[STATUS; 34]] {
            send_packet(&worker.fd, packet, None).unwrap();
        }
        worker.send(&ToMaster::Ready).unwrap();
        assert_eq!(master.receive(), Received::Message(ToMaster::Ready));
    }
}
