//! The bus of a server's workers: memory in which one worker writes a message, and all of them read it.
//!
//! A message is written once, whatever the number of readers, and read by each in the order in which all were written. It
//! stays there until newer ones overwrite it, so it is its topic's history, too. Must not know who gets a message.
//! Invariants: a message is there as a whole or not at all, whenever its writer is killed; none that a reader has still to
//! read is overwritten, except for a reader that has been left behind, which learns of it; all of it has one size.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;

use super::bells::Bells;
use super::hosts::{self, Host, Hosts};
use super::index::{self, Index, number_of};
use super::interest::{self, Interest};
use super::memory::{Held, Memory};
use super::message::{Message, now_ms};
use super::places::{self, LINK, Places, RINGS};
use super::ring::{self, Found, HEAD_WORDS, Ring};

/// The layout; another version of weft with another one makes a bus of its own.
const LAYOUT: u64 = 0x7765_6674_6275_7304;
const FIRST_WORDS: usize = 8;
/// Words of the ring of questions and answers.
const MAIL_WORDS: usize = 128 * 1024;
/// Words of everything but the ring of messages, and who has subscribers to what.
const OTHER_WORDS: usize =
    FIRST_WORDS + places::WORDS + index::WORDS + hosts::WORDS + 2 * HEAD_WORDS + MAIL_WORDS;
/// A record has no more than this part of its ring; and after as much all workers are woken, whatever they have
/// subscribed to, so that none is far behind.
pub(super) const PARTS: u64 = 8;

// The first words.
const WORD_LAYOUT: usize = 0;
const WORD_EPOCH: usize = 1;
const WORD_PLACES: usize = 2;
const WORD_BUCKETS: usize = 3;

/// The ring of published messages.
pub const NEWS: usize = 0;
/// The ring of what workers ask each other.
pub const MAIL: usize = 1;

/// The bus.
#[derive(Debug)]
pub struct Bus {
    memory: Memory,
    /// What wakes those who read it.
    pub bells: Bells,
    /// Of which start of the server it is.
    pub epoch: u32,
    pub(super) places: Places,
    pub(super) rings: [Ring; RINGS],
    index: Index,
    pub(super) interest: Interest,
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
    /// A new one, for so many bytes of messages, which are made a power of two, and so many workers.
    ///
    /// # Errors
    /// Those of memfd_create(2), mmap(2) and eventfd(2).
    pub fn new(bytes: usize, workers: usize) -> io::Result<Bus> {
        let news = (bytes / size_of::<u64>()).next_power_of_two();
        let bells = Bells::new(workers)?;
        let size = interest::Size::of(workers, bells.own());
        let words = OTHER_WORDS + news + size.words().ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = Memory::new(words)?;
        let mut epoch = [0; 4];
        // Without randomness, the time tells one start from another.
        let _ = rustix::rand::getrandom(&mut epoch, rustix::rand::GetRandomFlags::NONBLOCK);
        // Other hosts know it by this number, and 0 is none.
        let epoch = (u32::from_ne_bytes(epoch) ^ now_ms() as u32).max(1);
        for (at, value) in [
            (WORD_EPOCH, u64::from(epoch)),
            (WORD_PLACES, size.places as u64),
            (WORD_BUCKETS, size.buckets as u64),
            (WORD_LAYOUT, LAYOUT),
        ] {
            memory.words[at].store(value, Relaxed);
        }
        Ok(Bus::of(memory, bells, size))
    }

    /// That of an earlier image, from what [`Bus::descriptors`] were there; `None` if it has another layout.
    pub fn adopt(descriptors: Vec<OwnedFd>) -> Option<Bus> {
        let mut descriptors = descriptors.into_iter();
        let memory = Memory::adopt(descriptors.next()?).ok()?;
        let bells = Bells::of(descriptors.collect())?;
        let first = |word: usize| memory.words.get(word).map(|word| word.load(Relaxed));
        (first(WORD_LAYOUT)? == LAYOUT).then_some(())?;
        let [places, buckets] = [first(WORD_PLACES)? as usize, first(WORD_BUCKETS)? as usize];
        let size = interest::Size { places, buckets };
        let news = memory.words.len().checked_sub(OTHER_WORDS)?.checked_sub(size.words()?)?;
        (news.is_power_of_two() && places == bells.own()).then(|| Bus::of(memory, bells, size))
    }

    fn of(memory: Memory, bells: Bells, size: interest::Size) -> Bus {
        let words = memory.words;
        let (first, rest) = words.split_at(FIRST_WORDS);
        let (places, rest) = rest.split_at(places::WORDS);
        let (index, rest) = rest.split_at(index::WORDS);
        let (hosts, rest) = rest.split_at(hosts::WORDS);
        let (of_topics, rest) = rest.split_at(size.words().unwrap_or_default());
        let (mail, news) = rest.split_at(HEAD_WORDS + MAIL_WORDS);
        let epoch = first[WORD_EPOCH].load(Relaxed) as u32;
        let (places, index, hosts) = (Places::of(places), Index::of(index), Hosts::of(hosts));
        let (interest, rings) = (Interest::of(of_topics, size), [Ring::of(news), Ring::of(mail)]);
        Bus { memory, bells, epoch, places, rings, index, interest, hosts }
    }

    /// The descriptors that lead to it: its memory, and its bells.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        std::iter::once(self.memory.as_fd()).chain(self.bells.all()).collect()
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
        let at = self.rings[NEWS].head();
        let end = at + Ring::words_of(bytes.len());
        self.write_message(&held, message.topic, &bytes, || self.hosts.note_own(&held, end));
        drop(held);
        self.wake_for(message, at);
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
        self.wake_for(message, at);
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
        if self.is_full(NEWS, bytes.len()) {
            self.wake_all();
            return Err(Refused::Full);
        }
        Ok(bytes)
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

    /// Sends something to a worker that knows what it is, or to all (0).
    ///
    /// # Errors
    /// See [`Refused`]; nothing was written.
    pub fn mail(&self, bytes: &[u8], to: u64) -> Result<u64, Refused> {
        let ring = &self.rings[MAIL];
        let bytes_max = (ring.length() / PARTS) as usize * size_of::<u64>();
        if bytes.len() > bytes_max {
            return Err(Refused::TooLong(bytes_max));
        }
        let held = self.lock().ok_or(Refused::Busy)?;
        if self.is_full(MAIL, bytes.len()) {
            self.wake_all();
            return Err(Refused::Full);
        }
        ring.write(&held, bytes, 0);
        let at = ring.advance(&held, bytes.len());
        drop(held);
        self.wake_reader(to, at);
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
        let (from, used) = ([after.unwrap_or(news), mail], self.places.used());
        let place = self.places.take(&held, owner, from)?;
        drop(held);
        if owner & LINK == 0 {
            self.interest.begin(place, place < used);
        }
        Some((place, from))
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
        let bus = Bus::new(1 << 16, 1).unwrap();
        let at = bus.head(NEWS);
        bus.publish(&Message::new(Kind::Text, (0, 0), b"topic", b"hello")).unwrap();
        bus.index.note(&bus.lock().unwrap(), number_of(b"topic"), bus.head(NEWS)); // and dies
        assert_eq!(bus.lasts(&[b"topic", b"another"]), Some(vec![Ok(at), Err(0)]));
        assert_eq!(bus.step_back(b"topic", at, &mut Vec::new()), Back::Message(0));
    }
}
