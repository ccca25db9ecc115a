//! epoll(7), edge-triggered, with nanosecond deadlines (epoll_pwait2). It must be created after fork: an epoll
//! descriptor inherited by a child would report the parent's descriptors.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use rustix::io::Result;

use super::{Event, Readiness};
use crate::{Nanos, SECOND};

/// Events taken from the kernel in one turn. More stay queued in the kernel for the next.
const EVENTS_PER_TURN: usize = 128;

/// An epoll instance and its buffer of events.
pub struct Epoll {
    epoll: Arc<OwnedFd>,
    events: Vec<epoll::Event>,
}

impl Epoll {
    /// Opens an instance.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`, `ENOMEM` (epoll_create1(2)).
    pub fn new() -> Result<Epoll> {
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC)?);
        Ok(Epoll { epoll, events: Vec::with_capacity(EVENTS_PER_TURN) })
    }

    /// The instance's own descriptor.
    pub(crate) fn fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }

    /// Registers a descriptor for every edge, under `key`.
    ///
    /// # Errors
    /// `EPERM` for descriptors that are always ready (regular files), `EEXIST`, `EBADF`, `ENOSPC`
    /// (`fs.epoll.max_user_watches`).
    pub fn add(&self, fd: RawFd, key: u64) -> Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::PRI | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&*self.epoll, borrow(fd), EventData::new_u64(key), flags)
    }

    /// Registers a listening socket: level-triggered, one of the processes that share it is woken.
    ///
    /// # Errors
    /// As [`Epoll::add`].
    pub fn add_shared(&self, fd: RawFd, key: u64) -> Result<()> {
        epoll::add(&*self.epoll, borrow(fd), EventData::new_u64(key), EventFlags::IN | EventFlags::EXCLUSIVE)
    }

    /// Removes a descriptor. MUST come before close: a forked child may keep the open file description alive, and its
    /// events would continue to arrive.
    ///
    /// # Errors
    /// `ENOENT` if it was not registered, `EBADF`.
    pub fn delete(&self, fd: RawFd) -> Result<()> {
        epoll::delete(&*self.epoll, borrow(fd))
    }

    /// Waits for events until `timeout` nanoseconds have passed, or forever.
    pub fn wait(&mut self, timeout: Option<Nanos>) -> Result<()> {
        let timeout =
            timeout.map(|ns| Timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as _ });
        self.events.clear();
        epoll::wait(&*self.epoll, rustix::buffer::spare_capacity(&mut self.events), timeout.as_ref())?;
        Ok(())
    }

    /// The instance's own descriptor, for [`has_events`].
    pub(crate) fn descriptor(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.epoll)
    }

    /// The events of the last wait.
    pub fn event(&self, index: usize) -> Option<Event> {
        let event = self.events.get(index)?;
        // The low six bits of epoll's events are poll's (linux/eventpoll.h: EPOLLIN is POLLIN and so on); RDHUP is
        // 0x2000 in both.
        let flags = event.flags;
        let bits = flags.bits() as i16;
        Some(Event { key: event.data.u64(), readiness: Readiness(bits) })
    }
}

/// Whether a wait of this instance would return at once. Any thread may ask.
pub(crate) fn has_events(epoll: &OwnedFd) -> bool {
    let mut own = [PollFd::new(epoll, PollFlags::IN)];
    matches!(poll(&mut own, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1..))
}

/// The same, after having waited for one for so long at most, or until the other descriptor is readable. Which of the two are;
/// `None`: only the other one is waited for.
pub(crate) fn wait_for_events(epoll: Option<&OwnedFd>, other: &OwnedFd, most: Duration) -> [bool; 2] {
    let flags = if epoll.is_some() { PollFlags::IN } else { PollFlags::empty() };
    let mut own = [PollFd::new(epoll.unwrap_or(other), flags), PollFd::new(other, PollFlags::IN)];
    let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos() as _ };
    let is_one = matches!(poll(&mut own, Some(&most)), Ok(1..));
    own.map(|one| is_one && !one.revents().is_empty())
}

/// What a descriptor is ready for now, as an event would say it.
pub(crate) fn ready_now(fd: RawFd) -> Readiness {
    let all = PollFlags::IN | PollFlags::OUT | PollFlags::PRI | PollFlags::RDHUP;
    let file = borrow(fd);
    let mut own = [PollFd::new(&file, all)];
    // It fails only without memory: then nothing is known, and who waits asks for himself.
    let _ = poll(&mut own, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    Readiness(own[0].revents().bits() as i16)
}

/// What a descriptor is, for reports: its peer's address, or what the kernel calls it.
pub(crate) fn name_of(fd: RawFd) -> String {
    let kernels = || std::fs::read_link(format!("/proc/self/fd/{fd}"));
    let other = || kernels().map_or_else(|_| format!("descriptor {fd}"), |name| name.display().to_string());
    peer_name(fd).unwrap_or_else(other)
}

/// The address of a socket's peer; `None` for what has none.
pub(crate) fn peer_name(fd: RawFd) -> Option<String> {
    let peer = rustix::net::getpeername(borrow(fd)).ok()??;
    Some(match std::net::SocketAddr::try_from(peer.clone()) {
        Ok(address) => address.to_string(),
        Err(_) => rustix::net::SocketAddrUnix::try_from(peer)
            .ok()
            .and_then(|unix| unix.path().map(|path| path.to_string_lossy().into_owned()))
            .unwrap_or_else(|| "a unix socket".to_owned()),
    })
}

fn borrow<'fd>(fd: RawFd) -> BorrowedFd<'fd> {
    // SAFETY: the number is only handed to epoll_ctl, poll and getpeername, which say so if it is not open; it is not
    // kept.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_descriptor_is_asked_again_after_its_event() {
        let (mut near, mut far) = UnixStream::pair().unwrap();
        let fd = near.as_raw_fd();
        far.write_all(b"x").unwrap();
        assert!(ready_now(fd).readable() && ready_now(fd).writable());
        near.read_exact(&mut [0]).unwrap();
        assert!(!ready_now(fd).readable() && ready_now(fd).writable());
        drop(far);
        assert!(ready_now(fd).any(Readiness::BROKEN));
        // No test may open a file meanwhile that gets the number of one that is closed.
        assert_eq!(ready_now(RawFd::MAX), Readiness::CLOSED);
    }
}
