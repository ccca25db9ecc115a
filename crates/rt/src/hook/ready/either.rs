//! Waiting for descriptors or for a wake, whichever comes first: the wait of an event loop written in PHP.
//!
//! weft calls it directly; it replaces no function of libc. Invariant: it always leaves through the ready queue, so a loop
//! whose descriptors are always ready lets other coroutines run.

use libc::pollfd;

use crate::hook::ready::poll::{interest, watched};
use crate::hook::{descriptor, raw};
use crate::{Nanos, Readiness, Runtime, Wake};

impl Runtime {
    /// Parks until one of `fds` is ready, the wait is woken, or the deadline has passed; `revents` then hold what is
    /// ready. `None` if the word is not the current wait of the running coroutine.
    pub fn park_word_on(&self, word: u64, fds: &mut [pollfd], deadline: Option<Nanos>) -> Option<Wake> {
        let wait = self.present_wait(word)?;
        if raw::poll_now(fds) > 0 {
            self.wake(wait, Readiness::default());
            return Some(self.park(wait, None));
        }
        fds.iter().for_each(|fd| descriptor::drop_stale(self, fd.fd));
        let wanted: Vec<_> = fds.iter().map(|fd| (watched(fd.fd), interest(fd.events))).collect();
        let generations: Vec<_> = fds.iter().map(|fd| descriptor::generation(fd.fd)).collect();
        let wake = self.wait_fds_on(wait, &wanted, deadline);
        raw::poll_now(fds);
        for (fd, generation) in fds.iter_mut().zip(generations) {
            if descriptor::generation(fd.fd) != generation {
                fd.revents = libc::POLLNVAL; // closed meanwhile; its number may belong to another file by now
            }
        }
        Some(wake)
    }
}
