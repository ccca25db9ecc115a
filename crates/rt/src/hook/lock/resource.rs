//! What coroutines of different requests contend for, by its identity.
//!
//! It must not know who waits for it, or how. Invariant: two descriptors of one file name the same resource.
#![allow(unsafe_code)]

use libc::c_int;

use crate::hook::errno::{errno, set_errno};

/// What a coroutine waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// A lock on a file, by device and inode.
    File(u64, u64),
    /// A System V semaphore set.
    Semaphores(c_int),
    /// A message in a System V queue.
    Message(c_int),
    /// Room in a System V queue.
    Room(c_int),
    /// Something that is released where no hook sees it.
    Unseen,
}

impl Resource {
    /// The file behind a descriptor; `Unseen` if there is none.
    pub fn of_file(fd: c_int) -> Resource {
        let saved = errno();
        // SAFETY: the all-zero stat is valid storage.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: fstat only writes `stat`. It is not hooked.
        let found = unsafe { libc::fstat(fd, &raw mut stat) } == 0;
        set_errno(saved);
        if found { Resource::File(stat.st_dev, stat.st_ino) } else { Resource::Unseen }
    }
}
