//! The memory of the bus, and its lock.
//!
//! Must not know what is in it. Invariants: the memory is never shorter than what is mapped (the file is sealed), and is
//! read and written as atomic words only, so that a process which is killed, or which does nonsense, can make others read
//! nonsense, but nothing worse; the lock of a process that ends is free.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU64;

use rustix::fs::{FlockOperation, SealFlags, fcntl_add_seals, fcntl_get_seals, fcntl_lock, fstat, ftruncate};
use rustix::mm::{MapFlags, ProtFlags, mmap};

use crate::memory_file::memory_file;

/// Tries to lock before the caller is told to come back: whoever has the lock copies one message.
const TRIES: usize = 64;
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Memory that processes share, as words.
#[derive(Debug)]
pub struct Memory {
    file: OwnedFd,
    /// All of it.
    pub words: &'static [AtomicU64],
}

/// The lock, as long as this lives.
#[derive(Debug)]
pub struct Held<'a>(&'a Memory);

impl Memory {
    /// New memory, all zero. It takes room when it is written to.
    ///
    /// # Errors
    /// Those of memfd_create(2), ftruncate(2) and mmap(2).
    pub fn new(words: usize) -> io::Result<Memory> {
        let file = memory_file("weft-bus")?;
        ftruncate(&file, (words * size_of::<u64>()) as u64)?;
        fcntl_add_seals(&file, SEALS)?;
        Memory::map(file, words)
    }

    /// The memory behind a descriptor of an earlier image.
    ///
    /// # Errors
    /// `InvalidInput` if it is not such memory; those of mmap(2).
    pub fn adopt(file: OwnedFd) -> io::Result<Memory> {
        if !fcntl_get_seals(&file)?.contains(SEALS) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let words = fstat(&file)?.st_size as usize / size_of::<u64>();
        Memory::map(file, words)
    }

    fn map(file: OwnedFd, words: usize) -> io::Result<Memory> {
        let (access, bytes) = (ProtFlags::READ | ProtFlags::WRITE, words * size_of::<u64>());
        // SAFETY: the mapping is new and never unmapped; the file has this length for ever, because it is sealed. A page
        // boundary is aligned enough, and any bytes are atomic numbers.
        let words = unsafe {
            let memory = mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, &file, 0)?;
            std::slice::from_raw_parts(memory.cast::<AtomicU64>(), words)
        };
        Ok(Memory { file, words })
    }

    /// Locks it against other processes; `None` if one that has it does not go on. The loop's thread alone may call this:
    /// the lock is the process's (fcntl_locking(2)), and no second descriptor of the file MUST ever be closed.
    pub fn lock(&self) -> Option<Held<'_>> {
        for _ in 0..TRIES {
            match fcntl_lock(&self.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Some(Held(self)),
                // On one processor its owner has to run first.
                Err(_) => rustix::thread::sched_yield(),
            }
        }
        None
    }
}

impl AsFd for Memory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Unlocking cannot fail for a descriptor that was locked.
        let _ = fcntl_lock(&self.0.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn another_image_finds_what_was_written() {
        let memory = Memory::new(1024).unwrap();
        memory.words[1023].store(7, Relaxed);
        let copy = rustix::io::fcntl_dupfd_cloexec(memory.as_fd(), 0).unwrap();
        let adopted = Memory::adopt(copy).unwrap();
        assert_eq!((adopted.words.len(), adopted.words[1023].load(Relaxed)), (1024, 7));
        assert!(ftruncate(memory.as_fd(), 0).is_err());
    }

    #[test]
    fn other_files_are_not_taken_for_memory() {
        let file = memfd_create("other", MemfdFlags::CLOEXEC).unwrap();
        assert!(Memory::adopt(file).is_err());
    }
}
