//! The bus of a server's workers: memory in which one worker writes a message, and all of them read it.
//!
//! A message is written once, whatever the number of readers, and read by each in the order in which all were written. It
//! stays there until newer ones overwrite it, so it is its topic's history, too. Must not know who gets a message.
//! Invariants: a message is there as a whole or not at all, whenever its writer is killed; none that a reader has still to
//! read is overwritten, except for a reader that has been left behind, which learns of it; all of it has one size.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;

use rustix::event::{EventfdFlags, eventfd};

use super::hosts::{self, Host, Hosts};
use super::index::{self, Index, number_of};
use super::memory::{Held, Memory};
use super::message::{Message, now_ms};
use super::places::{self, Places, RINGS};
use super::ring::{self, Found, HEAD_WORDS, Ring};

/// The layout; another version of weft with another one makes a bus of its own.
const LAYOUT: u64 = 0x7765_6674_6275_7303;
const FIRST_WORDS: usize = 8;
/// Words of the ring of questions and answers.
const MAIL_WORDS: usize = 128 * 1024;
/// Words of everything but the ring of messages.
const OTHER_WORDS: usize =
    FIRST_WORDS + places::WORDS + index::WORDS + hosts::WORDS + 2 * HEAD_WORDS + MAIL_WORDS;
/// A record has no more than this part of its ring.
const PARTS: u64 = 8;

/// The ring of published messages.
pub const NEWS: usize = 0;
/// The ring of what workers ask each other.
pub const MAIL: usize = 1;

/// The bus.
#[derive(Debug)]
pub struct Bus {
    memory: Memory,
    /// Written to for each record: wakes all workers, which wait for its edges and never read it (epoll(7)).
    bell: OwnedFd,
    /// Of which start of the server it is.
    pub epoch: u32,
    places: Places,
    rings: [Ring; RINGS],
    index: Index,
    /// The other hosts that share its topics.
    pub hosts: Hosts,
}

/// Why a record was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It has more than this many bytes.
    TooLong(usize),
    /// A reader has not read what it would overwrite.
    Full,
    /// Another process has the lock, and does not go on.
    Busy,
}

/// A step on the way back through a topic's messages.
#[derive(Debug, PartialEq, Eq)]
pub enum Back {
    /// A message of it, whose bytes were appended; the one before is, or was, there.
    Message(u64),
    /// One of another topic.
    Other(u64),
    /// It was overwritten.
    Gone,
}

impl Bus {
    /// A new one, for so many bytes of messages, which are made a power of two.
    ///
    /// # Errors
    /// Those of memfd_create(2), mmap(2) and eventfd(2).
    pub fn new(bytes: usize) -> io::Result<Bus> {
        let news = (bytes / size_of::<u64>()).next_power_of_two();
        let words = OTHER_WORDS + news;
        let memory = Memory::new(words)?;
        let mut epoch = [0; 4];
        // Without randomness, the time tells one start from another.
        let _ = rustix::rand::getrandom(&mut epoch, rustix::rand::GetRandomFlags::NONBLOCK);
        // Other hosts know it by this number, and 0 is none.
        let epoch = (u32::from_ne_bytes(epoch) ^ now_ms() as u32).max(1);
        memory.words[1].store(u64::from(epoch), Relaxed);
        memory.words[0].store(LAYOUT, Relaxed);
        Ok(Bus::of(memory, eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// That of an earlier image; `None` if it has another layout.
    pub fn adopt(memory: OwnedFd, bell: OwnedFd) -> Option<Bus> {
        let memory = Memory::adopt(memory).ok()?;
        let news = memory.words.len().checked_sub(OTHER_WORDS)?;
        let is_ours = memory.words.first()?.load(Relaxed) == LAYOUT && news.is_power_of_two();
        is_ours.then(|| Bus::of(memory, bell))
    }

    fn of(memory: Memory, bell: OwnedFd) -> Bus {
        let words = memory.words;
        let (first, rest) = words.split_at(FIRST_WORDS);
        let (places, rest) = rest.split_at(places::WORDS);
        let (index, rest) = rest.split_at(index::WORDS);
        let (hosts, rest) = rest.split_at(hosts::WORDS);
        let (mail, news) = rest.split_at(HEAD_WORDS + MAIL_WORDS);
        let epoch = first[1].load(Relaxed) as u32;
        let (places, index, hosts) = (Places::of(places), Index::of(index), Hosts::of(hosts));
        Bus { memory, bell, epoch, places, rings: [Ring::of(news), Ring::of(mail)], index, hosts }
    }

    /// The descriptors that lead to it: its memory, and its bell.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.memory.as_fd(), self.bell.as_fd()]
    }

    /// Becomes readable at each record (an edge of epoll(7)); nobody MUST read it.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// What a message and its topic can have, in bytes.
    pub fn bytes_max(&self) -> usize {
        (self.rings[NEWS].length() / PARTS) as usize * size_of::<u64>()
    }

    /// Publishes a message of this host; returns where it ends, and what was here before it ([`hosts::seen_in`]).
    ///
    /// # Errors
    /// See [`Refused`]; nothing was written.
    pub fn publish(&self, message: &Message<'_>) -> Result<(u64, Vec<u8>), Refused> {
        let held = self.lock().ok_or(Refused::Busy)?;
        // Under the lock: what it says was here has to be what is here.
        let seen = self.hosts.seen(self.epoch, None);
        let bytes = self.fitting(&Message { seen: &seen, ..*message })?;
        let end = self.rings[NEWS].head() + Ring::words_of(bytes.len());
        self.write_message(&held, message.topic, &bytes, || self.hosts.note_own(&held, end));
        drop(held);
        self.ring_bell();
        Ok((end, seen))
    }

    /// Puts a message of another host on the bus, and notes what is then known of that host. For the link only.
    ///
    /// # Errors
    /// See [`Refused`]; nothing was written.
    pub fn inject(&self, message: &Message<'_>, news: Host) -> Result<(), Refused> {
        let held = self.lock().ok_or(Refused::Busy)?;
        let seen = self.hosts.seen(self.epoch, Some(news));
        let bytes = self.fitting(&Message { seen: &seen, ..*message })?;
        let at = self.rings[NEWS].head();
        self.write_message(&held, message.topic, &bytes, || {
            self.hosts.begin(&held, at, news.host, news.next)
        });
        self.hosts.set(&held, news);
        self.hosts.end(&held);
        drop(held);
        self.ring_bell();
        Ok(())
    }

    /// What is here of other hosts, if the message that begins at `at` is the next one.
    pub fn seen_at(&self, at: u64) -> Option<Vec<u8>> {
        // Under the lock, so that nobody notes more meanwhile.
        let _held = self.lock()?;
        (self.rings[NEWS].head() == at).then(|| self.hosts.seen(self.epoch, None))
    }

    /// Notes what is known of another host; returns whether there was room. `None` if the lock could not be had.
    pub fn note_host(&self, news: Host) -> Option<bool> {
        let held = self.lock()?;
        Some(self.hosts.set(&held, news))
    }

    /// Forgets a host.
    pub fn forget_host(&self, host: u32) {
        if let Some(held) = self.lock() {
            self.hosts.forget(&held, host);
        }
    }

    /// Notes what a link has put on the bus that died before it had noted it.
    pub fn repair_link(&self) {
        let (Some((at, host, end)), Some(held)) = (self.hosts.pending(), self.lock()) else { return };
        let mut bytes = Vec::new();
        let is_there = matches!(self.read(NEWS, at, &mut bytes), Found::Record { .. });
        let origin = Message::decode(&bytes).filter(|_| is_there).and_then(|message| message.origin);
        if origin.is_some_and(|origin| (origin.host, origin.end) == (host, end)) {
            let known =
                self.hosts.find(host).unwrap_or(Host { host, next: 0, since: end, heard_ms: now_ms() });
            self.hosts.set(&held, Host { next: known.next.max(end), ..known });
        }
        self.hosts.end(&held);
    }

    /// The bytes of a message, if there is room for them.
    fn fitting(&self, message: &Message<'_>) -> Result<Vec<u8>, Refused> {
        let bytes = message.encode();
        if bytes.len() > self.bytes_max() {
            let others = bytes.len() - message.payload.len();
            return Err(Refused::TooLong(self.bytes_max().saturating_sub(others)));
        }
        if self.is_full(NEWS, bytes.len()) { Err(Refused::Full) } else { Ok(bytes) }
    }

    /// Writes a message; `note` is called before anybody sees it.
    fn write_message(&self, held: &Held<'_>, topic: &[u8], bytes: &[u8], note: impl FnOnce()) {
        let ring = &self.rings[NEWS];
        let previous = self.index.note(held, number_of(topic), ring.head());
        ring.write(held, bytes, previous);
        note();
        ring.advance(held, bytes.len());
        self.index.is_noted(held);
    }

    /// Sends something to workers that know what it is.
    ///
    /// # Errors
    /// See [`Refused`]; nothing was written.
    pub fn mail(&self, bytes: &[u8]) -> Result<u64, Refused> {
        let ring = &self.rings[MAIL];
        let bytes_max = (ring.length() / PARTS) as usize * size_of::<u64>();
        if bytes.len() > bytes_max {
            return Err(Refused::TooLong(bytes_max));
        }
        let held = self.lock().ok_or(Refused::Busy)?;
        if self.is_full(MAIL, bytes.len()) {
            return Err(Refused::Full);
        }
        ring.write(&held, bytes, 0);
        let at = ring.advance(&held, bytes.len());
        drop(held);
        self.ring_bell();
        Ok(at)
    }

    /// Whether a record of so many bytes would overwrite what a reader has still to read.
    fn is_full(&self, ring: usize, bytes: usize) -> bool {
        let end = self.rings[ring].head() + Ring::words_of(bytes);
        self.places
            .slowest(ring)
            .is_some_and(|(slowest, _)| end.saturating_sub(slowest) > self.rings[ring].length())
    }

    fn lock(&self) -> Option<Held<'_>> {
        let held = self.memory.lock()?;
        self.index.repair(&held, self.rings[NEWS].head());
        Some(held)
    }

    fn ring_bell(&self) {
        let one = 1u64.to_ne_bytes();
        if rustix::io::write(&self.bell, &one).is_err() {
            // Nobody reads it, so after 2^64 - 2 times it is full.
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
            let _ = rustix::io::write(&self.bell, &one);
        }
    }

    /// The reader who has read least is not waited for any more; returns its process.
    pub fn leave_behind(&self, ring: usize) -> Option<u32> {
        let (at, place) = self.places.slowest(ring)?;
        self.places.leave_behind(place, ring, at)
    }

    /// A place from which to read all that is written from now on, and where that begins. `None` if there is none.
    /// `after` is where the news begin, if it is not now.
    pub fn join(&self, owner: u64, after: Option<u64>) -> Option<(usize, [u64; RINGS])> {
        let held = self.lock()?;
        let [news, mail] = [NEWS, MAIL].map(|ring| self.rings[ring].head());
        let from = [after.unwrap_or(news), mail];
        Some((self.places.take(&held, owner, from)?, from))
    }

    /// A process does not read any more.
    pub fn leave(&self, pid: u32) {
        self.places.free(pid);
    }

    /// The workers that read.
    pub fn readers(&self) -> impl Iterator<Item = u64> {
        self.places.owners()
    }

    /// Where the first record was.
    pub fn start(&self) -> u64 {
        ring::FIRST
    }

    /// Whether a message that began at a position is still there.
    pub fn is_there(&self, at: u64) -> bool {
        self.rings[NEWS].read(at, &mut Vec::new()) != Found::Gone
    }

    /// Where the next record will be.
    pub fn head(&self, ring: usize) -> u64 {
        self.rings[ring].head()
    }

    /// Appends the bytes of a record to `into`.
    pub fn read(&self, ring: usize, at: u64, into: &mut Vec<u8>) -> Found {
        self.rings[ring].read(at, into)
    }

    /// The reader in a place has read everything before this position.
    pub fn has_read(&self, place: usize, ring: usize, to: u64) {
        self.places.has_read(place, ring, to);
    }

    /// The position of the last message of each of these topics; `Err` with the position up to which messages may have been
    /// forgotten. `None` if the lock could not be had.
    pub fn lasts(&self, topics: &[&[u8]]) -> Option<Vec<Result<u64, u64>>> {
        let held = self.lock()?;
        Some(topics.iter().map(|topic| self.index.last(&held, number_of(topic))).collect())
    }

    /// Appends the bytes of the message at a position to `into`, if it is one of the topic.
    pub fn step_back(&self, topic: &[u8], at: u64, into: &mut Vec<u8>) -> Back {
        let start = into.len();
        let Found::Record { previous, .. } = self.rings[NEWS].read(at, into) else { return Back::Gone };
        let found = Message::decode(&into[start..]).map(|message| message.topic.to_vec());
        match found {
            Some(found) if found == topic => Back::Message(previous),
            Some(found) if number_of(&found) == number_of(topic) => {
                into.truncate(start);
                Back::Other(previous)
            }
            _ => {
                into.truncate(start);
                Back::Gone
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::message::Kind;

    #[test]
    fn a_history_ends_with_a_message_that_is_there_whatever_a_dead_publisher_has_begun() {
        let bus = Bus::new(1 << 16).unwrap();
        let at = bus.head(NEWS);
        bus.publish(&Message::new(Kind::Text, (0, 0), b"topic", b"hello")).unwrap();
        bus.index.note(&bus.lock().unwrap(), number_of(b"topic"), bus.head(NEWS)); // and dies
        assert_eq!(bus.lasts(&[b"topic", b"another"]), Some(vec![Ok(at), Err(0)]));
        assert_eq!(bus.step_back(b"topic", at, &mut Vec::new()), Back::Message(0));
    }
}
