//! Connections that another thread may take from the loop: one entry for each place, one owner at each moment.
//!
//! ```text
//!            offer (loop)              take (deputy)           passed on
//!   own ──────────────────▶ offered ─────────────────▶ taking ───────────▶ taken
//!    ▲                         │  ▲                        │                  │
//!    └───────── claim (loop) ──┘  └───── not passed on ────┘                  └─ claim (loop) ─▶ own
//! ```
//!
//! Must not know what a connection is, or where it goes. Invariant: the bytes of an entry belong to the loop in `own`, to
//! nobody in `offered` and `taken`, and to the thread that is passing them on in `taking`. Each change of the word goes by
//! compare-and-swap of the value that was seen, and each offer has a number of its own.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::Nanos;
use crate::reactor::Reactor;

/// Entries that are allocated together.
const CHUNK: usize = 256;

const STATE: u64 = 3;
const OWN: u64 = 0;
const OFFERED: u64 = 1;
const TAKING: u64 = 2;
const TAKEN: u64 = 3;
/// One offer more.
const NUMBER: u64 = 4;

/// What a connection was offered with.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Bytes that were read from it.
    pub bytes: Vec<u8>,
    /// How many of them, from the first, are done with.
    pub done: usize,
    /// Bytes that are still to be written to it.
    pub answer: Vec<u8>,
    /// Whether it ends when these are written.
    pub ends: bool,
    /// Since when it waits.
    pub since: Nanos,
    /// A word for its next owner.
    pub word: u32,
}

#[derive(Default)]
struct Entry {
    word: AtomicU64,
    fd: AtomicI32,
    /// Whether bytes were read, so that it may be passed on although nothing more has arrived.
    whole: AtomicU32,
    offer: UnsafeCell<Offer>,
}

// SAFETY: `offer` is only reached by the owner that `word` names, and ownership passes by Release and Acquire on `word`.
unsafe impl Sync for Entry {}

struct Shared {
    chunks: Box<[OnceLock<Box<[Entry]>>]>,
    /// Places below this one may have entries.
    top: AtomicU32,
}

impl Shared {
    /// The entries that may be taken.
    fn offered(&self) -> impl Iterator<Item = Offered> + '_ {
        (0..self.top.load(Acquire)).filter_map(|place| {
            let entry = self.entry(place)?;
            let word = entry.word.load(Acquire);
            (word & STATE == OFFERED).then(|| Offered {
                place,
                word,
                fd: entry.fd.load(Relaxed),
                is_whole: entry.whole.load(Relaxed) != 0,
            })
        })
    }

    fn entry(&self, place: u32) -> Option<&Entry> {
        self.chunks.get(place as usize / CHUNK)?.get()?.get(place as usize % CHUNK)
    }
}

/// The loop's side.
pub struct Owner {
    shared: Arc<Shared>,
    /// Not for other threads: only one owner at a time changes an entry that it owns.
    _loop: std::marker::PhantomData<*const ()>,
}

/// The other side.
pub struct Taker {
    shared: Arc<Shared>,
    /// What takes the place of a descriptor that was passed on.
    nothing: OwnedFd,
    epoll: RawFd,
}

/// The side of who settles everything at the end of the process: it allocates nothing and makes no system call, so a
/// handler of signals may use it.
pub struct Heir {
    shared: Arc<Shared>,
}

/// What the loop finds when it claims a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is the loop's again, with its bytes.
    Own(Offer),
    /// It was passed on with this; its descriptor is nothing now.
    Gone(Offer),
}

/// An entry that may be taken, as it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// Where it was offered.
    pub place: u32,
    word: u64,
    /// Its descriptor, for poll(2): by the time of a use it may be another file's.
    pub fd: RawFd,
    /// Whether it may be passed on at once; otherwise when something has arrived.
    pub is_whole: bool,
}

/// A ledger for places below `places_max`, for the loop of `reactor`.
///
/// # Errors
/// Those of open(2), for /dev/null.
pub fn ledger(places_max: usize, reactor: &Reactor) -> std::io::Result<(Owner, Taker)> {
    let chunks = (0..places_max.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect();
    let shared = Arc::new(Shared { chunks, top: AtomicU32::new(0) });
    let nothing = OwnedFd::from(std::fs::File::open("/dev/null")?);
    let taker = Taker { shared: Arc::clone(&shared), nothing, epoll: reactor.fd() };
    Ok((Owner { shared, _loop: std::marker::PhantomData }, taker))
}

impl Owner {
    /// Offers the connection in `place`. `fd` MUST stay open, and MUST NOT be used, until [`Owner::claim`]. `is_whole`:
    /// it may be passed on although nothing more has arrived. Gives the offer back if the place has no entry.
    ///
    /// # Panics
    /// If it is offered already.
    pub fn offer(&self, place: u32, fd: BorrowedFd<'_>, is_whole: bool, offer: Offer) -> Result<(), Offer> {
        let Some(chunk) = self.shared.chunks.get(place as usize / CHUNK) else { return Err(offer) };
        let chunk = chunk.get_or_init(|| (0..CHUNK).map(|_| Entry::default()).collect());
        let entry = &chunk[place as usize % CHUNK];
        let word = entry.word.load(Relaxed);
        assert_eq!(word & STATE, OWN, "place {place} is offered already");
        // SAFETY: in this state the entry is the loop's.
        unsafe { *entry.offer.get() = offer };
        entry.fd.store(fd.as_raw_fd(), Relaxed);
        entry.whole.store(u32::from(is_whole), Relaxed);
        entry.word.store((word & !STATE).wrapping_add(NUMBER) | OFFERED, Release);
        if place >= self.shared.top.load(Relaxed) {
            self.shared.top.store(place + 1, Release);
        }
        Ok(())
    }

    /// Takes an offer back. If it is just being passed on, this waits: that takes one system call.
    pub fn claim(&self, place: u32) -> Claim {
        let Some(entry) = self.shared.entry(place) else { return Claim::Gone(Offer::default()) };
        let mut tries = 0u32;
        loop {
            let word = entry.word.load(Acquire);
            match word & STATE {
                OFFERED => {
                    if entry.word.compare_exchange(word, word & !STATE, AcqRel, Relaxed).is_ok() {
                        // SAFETY: the exchange made the entry the loop's.
                        return Claim::Own(unsafe { std::mem::take(&mut *entry.offer.get()) });
                    }
                }
                // The heir has given it back. SAFETY: in this state the entry is the loop's.
                OWN => return Claim::Own(unsafe { std::mem::take(&mut *entry.offer.get()) }),
                TAKING => {
                    tries += 1;
                    if tries < 100 {
                        std::hint::spin_loop();
                    } else {
                        // That thread has to run for it. Not a sleep: that is a hook, which would park a coroutine, and the
                        // caller holds the table of connections.
                        std::thread::yield_now();
                    }
                }
                _ => {
                    // SAFETY: nobody but the loop leaves this state.
                    let offer = unsafe { std::mem::take(&mut *entry.offer.get()) };
                    entry.word.store(word & !STATE, Release);
                    return Claim::Gone(offer);
                }
            }
        }
    }
}

impl Heir {
    /// The entries that may be taken.
    pub fn offered(&self) -> impl Iterator<Item = Offered> + '_ {
        self.shared.offered()
    }

    /// Takes an entry and lends it to `settle`, which says whether it has left; if not, it is the loop's again. Returns
    /// false if it is not what was seen any more. The process MUST end soon: the descriptor stays open in any case.
    pub fn take(&self, offered: Offered, settle: impl FnOnce(BorrowedFd<'_>, &Offer) -> bool) -> bool {
        let Some(entry) = self.shared.entry(offered.place) else { return false };
        let taking = offered.word & !STATE | TAKING;
        if entry.word.compare_exchange(offered.word, taking, AcqRel, Relaxed).is_err() {
            return false;
        }
        // SAFETY: as in `Taker::take`.
        let has_left = unsafe { settle(BorrowedFd::borrow_raw(entry.fd.load(Relaxed)), &*entry.offer.get()) };
        let after = if has_left { TAKEN } else { OWN };
        entry.word.store(offered.word & !STATE | after, Release);
        true
    }
}

impl Taker {
    /// An heir of the same ledger.
    pub fn heir(&self) -> Heir {
        Heir { shared: Arc::clone(&self.shared) }
    }

    /// The entries that may be taken.
    pub fn offered(&self) -> impl Iterator<Item = Offered> + '_ {
        self.shared.offered()
    }

    /// Takes an entry and has `pass` pass it on: whether it did. If so, the connection has left this process. If not, it
    /// is offered as before.
    pub fn take(&self, offered: Offered, pass: impl FnOnce(BorrowedFd<'_>, &Offer) -> bool) -> bool {
        let Some(entry) = self.shared.entry(offered.place) else { return false };
        let taking = offered.word & !STATE | TAKING;
        if entry.word.compare_exchange(offered.word, taking, AcqRel, Relaxed).is_err() {
            return false;
        }
        // The word is the one that was seen, so this is the descriptor of this offer.
        let fd = entry.fd.load(Relaxed);
        // SAFETY: `Owner::offer` demands that it stays open until it is claimed, and a claim waits for this thread; the
        // exchange made the entry this thread's.
        let passed = unsafe { pass(BorrowedFd::borrow_raw(fd), &*entry.offer.get()) };
        if passed {
            // SAFETY: both numbers are open: the entry's as above, the other is this taker's own. The kernel closes
            // `fd` and gives its number to /dev/null in one step. epoll is told before, because the socket stays open
            // elsewhere.
            unsafe {
                libc::epoll_ctl(self.epoll, libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut());
                libc::dup3(self.nothing.as_raw_fd(), fd, libc::O_CLOEXEC);
            }
        }
        let after = if passed { TAKEN } else { OFFERED };
        entry.word.store(offered.word & !STATE | after, Release);
        passed
    }

    /// Descriptors of its own, which a child of fork(2) must not keep.
    pub fn descriptors(&self) -> [RawFd; 1] {
        [self.nothing.as_raw_fd()]
    }
}

/// Waits until one of `others` or one of `offered` has something to read, at most for `timeout`. Returns the places of
/// those in `others`, and the offers.
pub fn wait(others: &[BorrowedFd<'_>], offered: &[Offered], timeout: Duration) -> (Vec<usize>, Vec<Offered>) {
    // SAFETY: the numbers are only handed to poll(2), which answers POLLNVAL for one that is not open, and are not
    // kept. If one has become another file's, its readiness is taken for the offer's; then the offer is an old one, and
    // taking it fails.
    let unread = offered.iter().map(|offered| unsafe { BorrowedFd::borrow_raw(offered.fd) });
    let mut fds: Vec<_> = others
        .iter()
        .copied()
        .chain(unread)
        .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN | PollFlags::RDHUP))
        .collect();
    // Nothing is ready after an interruption.
    let _ = poll(&mut fds, Timespec::try_from(timeout).ok().as_ref());
    let is_ready = |fd: &PollFd<'_>| fd.revents().intersects(PollFlags::IN | PollFlags::RDHUP);
    let (first, second) = fds.split_at(others.len());
    let ready =
        |fds: &[PollFd<'_>]| (0..fds.len()).filter(|index| is_ready(&fds[*index])).collect::<Vec<_>>();
    (ready(first), ready(second).into_iter().map(|index| offered[index]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    fn offer(bytes: &[u8]) -> Offer {
        Offer { bytes: bytes.to_vec(), since: 7, word: 1, ..Offer::default() }
    }

    fn new() -> (Owner, Taker, Reactor) {
        let reactor = Reactor::new().unwrap();
        let (owner, taker) = ledger(1000, &reactor).unwrap();
        (owner, taker, reactor)
    }

    #[test]
    fn an_offer_that_nobody_takes_comes_back_as_it_was() {
        let (owner, taker, _reactor) = new();
        let (near, _far) = UnixStream::pair().unwrap();
        owner.offer(3, near.as_fd(), true, offer(b"GET")).unwrap();
        assert_eq!(taker.offered().count(), 1);
        assert_eq!(owner.claim(3), Claim::Own(offer(b"GET")));
        assert_eq!(taker.offered().count(), 0);
        assert!(owner.offer(1_000_000, near.as_fd(), true, offer(b"x")).is_err());
    }

    #[test]
    fn what_was_passed_on_has_left_the_process() {
        let (owner, taker, _reactor) = new();
        let (near, mut far) = UnixStream::pair().unwrap();
        owner.offer(300, near.as_fd(), false, offer(b"GET")).unwrap();
        let seen = taker.offered().next().unwrap();
        assert!(!seen.is_whole);
        let mut passed = None;
        assert!(taker.take(seen, |fd, offer| {
            passed = Some((fd.try_clone_to_owned().unwrap(), offer.bytes.clone()));
            true
        }));
        assert!(!taker.take(seen, |_, _| panic!("it is gone")));
        let (fd, bytes) = passed.unwrap();
        assert_eq!(bytes, b"GET");
        UnixStream::from(fd).write_all(b"answer").unwrap();
        // The only other descriptor was closed with it: its peer sees the end.
        let mut text = String::new();
        far.read_to_string(&mut text).unwrap();
        assert_eq!(text, "answer");
        assert_eq!(owner.claim(300), Claim::Gone(offer(b"GET")));
        owner.offer(300, near.as_fd(), true, Offer::default()).unwrap();
    }

    #[test]
    fn an_old_sighting_takes_nothing() {
        let (owner, taker, _reactor) = new();
        let (near, _far) = UnixStream::pair().unwrap();
        owner.offer(0, near.as_fd(), true, offer(b"1")).unwrap();
        let seen = taker.offered().next().unwrap();
        assert_eq!(owner.claim(0), Claim::Own(offer(b"1")));
        owner.offer(0, near.as_fd(), true, offer(b"2")).unwrap();
        assert!(!taker.take(seen, |_, _| panic!("another offer")));
        let seen = taker.offered().next().unwrap();
        assert!(!taker.take(seen, |_, _| false));
        assert_eq!(owner.claim(0), Claim::Own(offer(b"2")));
    }

    #[test]
    fn what_an_heir_takes_nobody_else_takes() {
        let (owner, taker, _reactor) = new();
        for has_left in [true, false] {
            let (near, _far) = UnixStream::pair().unwrap();
            owner.offer(2, near.as_fd(), true, offer(b"GET")).unwrap();
            let (seen, heir) = (taker.offered().next().unwrap(), taker.heir());
            let mut bytes = Vec::new();
            assert!(heir.take(heir.offered().next().unwrap(), |_, offer| {
                bytes.clone_from(&offer.bytes);
                has_left
            }));
            assert_eq!(bytes, b"GET");
            assert!(!taker.take(seen, |_, _| panic!("it is taken")));
            assert!(!heir.take(seen, |_, _| panic!("it is taken")));
            assert_eq!(taker.offered().count() + heir.offered().count(), 0);
            let expected = if has_left { Claim::Gone(offer(b"GET")) } else { Claim::Own(offer(b"GET")) };
            assert_eq!(owner.claim(2), expected);
        }
    }

    #[test]
    fn each_offer_has_one_end_under_contention() {
        let (owner, taker, _reactor) = new();
        let (near, _far) = UnixStream::pair().unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        let taken = AtomicU32::new(0);
        let (mut gone, mut kept) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut fail = false;
                while !done.load(Relaxed) {
                    for seen in taker.offered().collect::<Vec<_>>() {
                        fail = !fail;
                        let passed = taker.take(seen, |_, offer| {
                            assert_eq!(offer.bytes, b"bytes");
                            !fail
                        });
                        taken.fetch_add(u32::from(passed), Relaxed);
                    }
                }
            });
            for _ in 0..20_000 {
                let own = near.try_clone().unwrap();
                owner.offer(5, own.as_fd(), true, offer(b"bytes")).unwrap();
                match owner.claim(5) {
                    Claim::Own(back) => {
                        assert_eq!(back.bytes, b"bytes");
                        kept += 1;
                    }
                    Claim::Gone(_) => gone += 1,
                }
            }
            done.store(true, Relaxed);
        });
        assert_eq!(gone, taken.load(Relaxed));
        assert_eq!(gone + kept, 20_000);
    }
}
