//! What a host knows of the other hosts that share its topics: how much of what each has published is here.
//!
//! Must not know how messages travel between hosts. Invariants: only the link's process writes here, and only under the lock,
//! so a publisher that finds the version unchanged has seen one state; what is here of a host up to `next` is here once.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::memory::Held;

/// Other hosts that are known at once; a host that was started anew is another one.
pub const HOSTS: usize = 32;
/// Bytes that one takes among what a message says was here before it.
pub const SEEN_BYTES: usize = 12;
const HOST_WORDS: usize = 4;
const FIRST_WORDS: usize = 8;
/// Words that all of it takes.
pub const WORDS: usize = FIRST_WORDS + HOSTS * HOST_WORDS;

// The first words.
/// Where the last message ends that was published on this host.
const OWN_END: usize = 0;
/// Where the first message begins that the link has still to pass on.
const CURSOR: usize = 1;
/// 1 once the history was read for the first time.
const LINKED: usize = 2;
/// The link's process.
const LINK: usize = 3;
// What is being put on the bus for another host.
const PENDING_AT: usize = 4;
const PENDING_HOST: usize = 5;
const PENDING_END: usize = 6;

/// Another host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Of which start of its server it is.
    pub host: u32,
    /// What it published before this position, from `since` on, is on this bus.
    pub next: u64,
    /// What it published before this position may be missing here.
    pub since: u64,
    /// When it was last heard of, in milliseconds since 1970.
    pub heard_ms: u64,
}

/// The other hosts, and where the link is.
#[derive(Debug)]
pub struct Hosts {
    first: &'static [AtomicU64],
    entries: &'static [AtomicU64],
}

impl Hosts {
    /// Those in these words.
    pub fn of(words: &'static [AtomicU64]) -> Hosts {
        let (first, entries) = words.split_at(FIRST_WORDS);
        Hosts { first, entries }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = Host> {
        self.entries.chunks_exact(HOST_WORDS).filter_map(|words| {
            let [host, next, since, heard_ms] = [0, 1, 2, 3].map(|at| words[at].load(Acquire));
            let host = u32::try_from(host).ok().filter(|host| *host != 0)?;
            Some(Host { host, next, since, heard_ms })
        })
    }

    /// One of them.
    pub fn find(&self, host: u32) -> Option<Host> {
        self.all().find(|one| one.host == host)
    }

    /// What is here, as a message says it that comes next: of each other host and of this one, up to where. Nothing while no
    /// other host is known. `news` is what will be known of one of them.
    pub fn seen(&self, own: u32, news: Option<Host>) -> Vec<u8> {
        let others = self.all().filter(|one| news.is_none_or(|news| news.host != one.host)).chain(news);
        let mut seen: Vec<u8> = others.flat_map(|one| entry(one.host, one.next)).collect();
        if !seen.is_empty() {
            seen.extend(entry(own, self.first[OWN_END].load(Acquire)));
        }
        seen
    }

    /// A message of this host is about to be there, and ends here.
    pub fn note_own(&self, _: &Held<'_>, end: u64) {
        self.first[OWN_END].store(end, Release);
    }

    /// Notes what is known of a host; returns whether there was room.
    pub fn set(&self, _: &Held<'_>, news: Host) -> bool {
        let at = |host: u64| {
            let mut all = self.entries.chunks_exact(HOST_WORDS);
            all.find(|words| words[0].load(Relaxed) == host)
        };
        let Some(words) = at(u64::from(news.host)).or_else(|| at(0)) else { return false };
        let values = [u64::from(news.host), news.next, news.since, news.heard_ms];
        // The name last: an entry without one is free.
        (0..HOST_WORDS).rev().for_each(|at| words[at].store(values[at], Release));
        true
    }

    /// Forgets a host.
    pub fn forget(&self, _: &Held<'_>, host: u32) {
        for words in self.entries.chunks_exact(HOST_WORDS) {
            if words[0].load(Relaxed) == u64::from(host) {
                words[0].store(0, Release);
            }
        }
    }

    /// A message of another host is about to be written at `at`. [`Hosts::set`] MUST follow.
    pub fn begin(&self, _: &Held<'_>, at: u64, host: u32, end: u64) {
        self.first[PENDING_HOST].store(u64::from(host), Release);
        self.first[PENDING_END].store(end, Release);
        self.first[PENDING_AT].store(at, Release);
    }

    /// It is there and noted.
    pub fn end(&self, _: &Held<'_>) {
        self.first[PENDING_AT].store(0, Release);
    }

    /// What a link that has died was about to write: where, of which host, and up to where in that one's order.
    pub fn pending(&self) -> Option<(u64, u32, u64)> {
        let [at, host, end] = [PENDING_AT, PENDING_HOST, PENDING_END].map(|at| self.first[at].load(Acquire));
        (at != 0).then_some((at, host as u32, end))
    }

    /// Where the first message begins that the link has still to pass on; 0 before the first.
    pub fn cursor(&self) -> u64 {
        self.first[CURSOR].load(Acquire)
    }

    /// What was published before this position has been passed on.
    pub fn set_cursor(&self, to: u64) {
        self.first[CURSOR].store(to, Release);
    }

    /// Whether what other hosts had published before this one began has been read.
    pub fn is_linked(&self) -> bool {
        self.first[LINKED].load(Acquire) == 1
    }

    /// It has been.
    pub fn set_linked(&self) {
        self.first[LINKED].store(1, Release);
    }

    /// The process that was the link last.
    pub fn link(&self) -> u32 {
        self.first[LINK].load(Acquire) as u32
    }

    /// This process is the link.
    pub fn become_link(&self) {
        self.first[LINK].store(u64::from(std::process::id()), Release);
    }
}

fn entry(host: u32, to: u64) -> [u8; SEEN_BYTES] {
    let mut bytes = [0; SEEN_BYTES];
    bytes[..4].copy_from_slice(&host.to_le_bytes());
    bytes[4..].copy_from_slice(&to.to_le_bytes());
    bytes
}

/// What a message says was here before it: hosts, and up to where.
pub fn seen_in(bytes: &[u8]) -> impl Iterator<Item = (u32, u64)> {
    bytes.as_chunks::<SEEN_BYTES>().0.iter().map(|entry| {
        let (host, to) = entry.split_at(4);
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        (number(host) as u32, number(to))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::memory::Memory;

    #[test]
    fn what_is_known_of_hosts_is_what_messages_say() {
        let memory = Memory::new(WORDS).unwrap();
        let hosts = Hosts::of(memory.words);
        let held = memory.lock().unwrap();
        assert!(hosts.seen(9, None).is_empty(), "a host that is alone says nothing");
        let one = Host { host: u32::MAX, next: 1 << 40, since: 8, heard_ms: 5 };
        assert!(hosts.set(&held, one));
        hosts.note_own(&held, 77);
        assert_eq!(seen_in(&hosts.seen(9, None)).collect::<Vec<_>>(), [(u32::MAX, 1 << 40), (9, 77)]);
        let later = Host { next: 2 << 40, ..one };
        assert_eq!(seen_in(&hosts.seen(9, Some(later))).collect::<Vec<_>>(), [(u32::MAX, 2 << 40), (9, 77)]);
        assert!(hosts.set(&held, later));
        assert_eq!(hosts.all().collect::<Vec<_>>(), [later]);
        hosts.forget(&held, u32::MAX);
        assert_eq!(hosts.all().count(), 0);
    }

    #[test]
    fn there_is_room_for_so_many() {
        let memory = Memory::new(WORDS).unwrap();
        let hosts = Hosts::of(memory.words);
        let held = memory.lock().unwrap();
        let host = |host| Host { host, next: 8, since: 8, heard_ms: 0 };
        assert!((1..=HOSTS as u32).all(|number| hosts.set(&held, host(number))));
        assert!(!hosts.set(&held, host(1000)));
        hosts.forget(&held, 3);
        assert!(hosts.set(&held, host(1000)));
    }
}
