//! A descriptor whose edges are waited for, and which is never read.
//!
//! Must not know what it is. Invariant: an edge that comes after a wait has ended ends the next one.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The descriptor.
pub struct Watched(AsyncFd<OwnedFd>);

impl Watched {
    /// One that leads to the same file.
    ///
    /// # Errors
    /// Those of dup(2) and epoll_ctl(2).
    pub fn of(fd: BorrowedFd<'_>) -> io::Result<Watched> {
        let own = fd.try_clone_to_owned()?;
        // SAFETY: the value owns its descriptor, which is one and the same until it is dropped, and nobody can get at it.
        let watched = unsafe { AsyncFd::register_with_interest(own, Interest::READABLE) };
        watched.map(Watched).map_err(io::Error::from)
    }

    /// Waits until something has happened since the last time.
    pub async fn stirs(&self) {
        if let Ok(mut ready) = self.0.readable().await {
            ready.clear_ready();
        }
    }
}
