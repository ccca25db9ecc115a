//! The thread of a crowd: its clients' sockets behind one epoll.
//!
//! Must not know what the test waits for. Invariant: a client acts upon what it is sent, and upon nothing else.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::shared::{LEFT, Shared};
use crate::wait::PATIENCE;
use crate::websocket::{frame, handshake};

/// Turns of the loop for which one that is restless reads nothing.
const STALL: usize = 50;
/// One restless client more leaves or stalls for so many that were read: on a slow machine there are few turns, and much to
/// read in each.
const READ_PER_WHIM: usize = 32;

/// What a client has heard of one publisher.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Track {
    count: usize,
    last: Option<u32>,
    /// Of all numbers, in their order.
    hash: u64,
}

/// What restless clients do next. The numbers are the same in each run.
#[derive(Debug)]
struct Whims {
    random: u32,
    turn: usize,
    /// In the order in which they have stalled, and when.
    stalled: VecDeque<(usize, usize)>,
}

impl Default for Whims {
    fn default() -> Whims {
        Whims { random: 2_463_534_242, turn: 0, stalled: VecDeque::new() }
    }
}

impl Whims {
    /// Marsaglia's xorshift.
    fn next(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random as usize
    }
}

/// A client.
#[derive(Debug)]
pub struct Client {
    number: usize,
    place: usize,
    stream: Option<TcpStream>,
    is_accepted: bool,
    is_live: bool,
    bytes: Vec<u8>,
    /// The id of the last message.
    last: String,
    /// What it has heard, by publisher.
    pub tracks: BTreeMap<u8, Track>,
    /// Kept by the first client only.
    pub numbers: BTreeMap<u8, Vec<u32>>,
}

/// The thread of the clients.
struct Loop<'a> {
    epoll: std::os::fd::OwnedFd,
    addresses: Vec<SocketAddr>,
    shared: &'a Shared,
}

/// Runs the clients until the crowd ends, or one of them has failed.
pub fn run(addresses: Vec<SocketAddr>, clients: usize, shared: &Shared) -> Vec<Client> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("a descriptor");
    let own = Loop { epoll, addresses, shared };
    let client = |number| Client {
        number,
        place: number,
        stream: None,
        is_accepted: false,
        is_live: false,
        bytes: Vec::new(),
        last: String::new(),
        tracks: BTreeMap::new(),
        numbers: BTreeMap::new(),
    };
    let mut all: Vec<Client> = (0..clients).map(client).collect();
    let (mut events, mut piece) = (Vec::with_capacity(1024), vec![0; 256 << 10]);
    let mut without: Vec<usize> = (0..clients).collect();
    let mut whims = Whims::default();
    while !shared.ends.load(Relaxed) {
        own.wake(&mut whims, &all);
        for _ in 0..=events.len() / READ_PER_WHIM {
            own.follow(&mut whims, &mut all, &mut without);
        }
        // Those whose server is not there try it again in the next turn.
        without.retain(|number| !own.connect(*number, &mut all[*number]));
        let pause = Timespec::try_from(Duration::from_millis(2)).expect("a time");
        events.clear();
        let waited = epoll::wait(&own.epoll, spare_capacity(&mut events), Some(&pause));
        if waited == Err(rustix::io::Errno::INTR) {
            continue;
        }
        for event in &events {
            let number = event.data.u64() as usize;
            if let Err(ended) = own.read(number, &mut all[number], &mut piece) {
                own.close(&mut all[number], ended);
                without.push(number);
            }
        }
        if shared.failure.lock().expect("no holder panics").is_some() {
            break;
        }
    }
    all
}

impl Loop<'_> {
    /// A turn begins: those that have stalled for long enough go on.
    fn wake(&self, whims: &mut Whims, all: &[Client]) {
        while whims.stalled.front().is_some_and(|(turn, _)| whims.turn >= turn + STALL) {
            let (_, number) = whims.stalled.pop_front().expect("it is there");
            self.listen(&all[number], epoll::EventFlags::IN);
        }
        whims.turn += 1;
    }

    /// What wakes a client; one that has come back meanwhile is as good.
    fn listen(&self, client: &Client, flags: epoll::EventFlags) {
        if let Some(stream) = &client.stream {
            let data = epoll::EventData::new_u64(client.number as u64);
            epoll::modify(&self.epoll, stream, data, flags).expect("a socket");
        }
    }

    /// One client more leaves or stalls.
    fn follow(&self, whims: &mut Whims, all: &mut [Client], without: &mut Vec<usize>) {
        if !self.shared.is_restless.load(Relaxed) {
            return;
        }
        let (number, whim) = (whims.next() % all.len(), whims.next() % 3);
        let client = &mut all[number];
        // One that has heard nothing could not say what it has missed.
        if !client.is_live || client.last.is_empty() {
            return;
        }
        match whim {
            0 => {
                self.close(client, LEFT);
                without.push(number);
            }
            1 => client.answer(&frame(0x88, &1000u16.to_be_bytes())),
            _ => {
                self.listen(client, epoll::EventFlags::empty());
                whims.stalled.push_back((whims.turn, number));
            }
        }
    }

    fn fail(&self, number: usize, what: &str) {
        let mut failure = self.shared.failure.lock().expect("no holder panics");
        failure.get_or_insert(format!("client {number} {what}"));
    }

    fn connect(&self, number: usize, client: &mut Client) -> bool {
        let address = self.addresses[client.place % self.addresses.len()];
        client.place += 1;
        let Ok(mut stream) = TcpStream::connect_timeout(&address, PATIENCE) else { return false };
        if stream.write_all(handshake("/room", "").as_bytes()).is_err() {
            return false;
        }
        stream.set_nonblocking(true).expect("a socket");
        let (data, flags) = (epoll::EventData::new_u64(number as u64), epoll::EventFlags::IN);
        epoll::add(&self.epoll, &stream, data, flags).expect("a socket");
        client.stream = Some(stream);
        client.is_accepted = false;
        client.bytes.clear();
        true
    }

    fn close(&self, client: &mut Client, code: u16) {
        *self.shared.ended.lock().expect("no holder panics").entry(code).or_default() += 1;
        client.stream = None; // which takes it from epoll, too
        if std::mem::take(&mut client.is_live) {
            self.shared.live.fetch_sub(1, Relaxed);
        }
    }

    /// Takes what has arrived; `Err` with the code of the close frame when the connection has ended.
    fn read(&self, number: usize, client: &mut Client, piece: &mut [u8]) -> Result<(), u16> {
        let Some(stream) = &mut client.stream else { return Ok(()) };
        match stream.read(piece) {
            Ok(0) => return Err(0),
            Ok(length) => client.bytes.extend_from_slice(&piece[..length]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(());
            }
            Err(_) => return Err(0),
        }
        let bytes = std::mem::take(&mut client.bytes);
        let mut at = 0;
        if !client.is_accepted {
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
                client.bytes = bytes;
                return Ok(());
            };
            if !bytes.starts_with(b"HTTP/1.1 101 ") {
                return Err(0); // a worker that is about to end
            }
            at = end + 4;
            client.is_accepted = true;
            let command = match client.last.as_str() {
                "" if client.tracks.is_empty() => "label all".to_owned(),
                id => format!("resume all {id}"),
            };
            client.answer(&frame(0x81, command.as_bytes()));
        }
        while let Some((kind, payload, end)) = next_frame(&bytes, at) {
            at = end;
            match kind {
                0x81 => self.hear(number, client, payload),
                0x89 => client.answer(&frame(0x8A, payload)),
                0x88 => {
                    client.answer(&frame(0x88, payload));
                    return Err(payload.first_chunk().map_or(1005, |code| u16::from_be_bytes(*code)));
                }
                _ => self.fail(number, "was sent an unknown frame"),
            }
        }
        client.bytes = bytes[at..].to_vec();
        Ok(())
    }

    fn hear(&self, number: usize, client: &mut Client, payload: &[u8]) {
        let text = String::from_utf8_lossy(payload);
        let Some((label, message)) = text.split_once('\n') else {
            match &*text {
                "true" => {
                    client.is_live = true;
                    self.shared.live.fetch_add(1, Relaxed);
                }
                "false" => self.fail(number, &format!("is too late: {}, {:?}", client.last, client.tracks)),
                _ => {} // the greeting
            }
            return;
        };
        let (id, _) = label.split_once(' ').expect("an id and a topic");
        client.last.clear();
        client.last.push_str(id);
        let (by, heard) = message.split_once(' ').expect("a publisher and a number");
        let (by, heard) = (by.as_bytes()[0], heard.parse().expect("a number"));
        let track = client.tracks.entry(by).or_default();
        if track.last.is_some_and(|last| last >= heard) {
            self.fail(number, &format!("heard {heard} of {} after {:?}", char::from(by), track.last));
        }
        *track = Track {
            count: track.count + 1,
            last: Some(heard),
            hash: track.hash.wrapping_mul(31).wrapping_add(u64::from(heard) + 1),
        };
        if number == 0 {
            client.numbers.entry(by).or_default().push(heard);
        }
        self.shared.heard.fetch_add(1, Relaxed);
        self.shared.farewells.fetch_add(usize::from(by.is_ascii_uppercase()), Relaxed);
    }
}

impl Client {
    fn answer(&mut self, bytes: &[u8]) {
        // A connection that has ended is noticed when it is read.
        let _ = self.stream.as_mut().map(|stream| stream.write_all(bytes));
    }
}

/// The next frame from `at` on: its first byte, its payload, and where it ends.
fn next_frame(bytes: &[u8], at: usize) -> Option<(u8, &[u8], usize)> {
    let (kind, short) = (*bytes.get(at)?, *bytes.get(at + 1)?);
    let (start, length) = match short {
        126 => (
            at + 4,
            usize::from(u16::from_be_bytes(bytes.get(at + 2..at + 4)?.try_into().expect("two bytes"))),
        ),
        127 => unreachable!("no message of these tests is so long"),
        length => (at + 2, usize::from(length)),
    };
    Some((kind, bytes.get(start..start + length)?, start + length))
}
