//! Room in the worker's table of descriptors.
//!
//! Must not know what has descriptors. Invariant: the table has its room before the first thread is there.

use rustix::process::{Resource, getrlimit};

/// The number of descriptors for which there is room from the start: 128 KiB of the kernel's memory.
const ROOM: u64 = 16_384;

/// Makes the table large. When it has to grow in a process with threads, the kernel waits until no processor reads the old one
/// (fs/file.c, `expand_fdtable`, which calls `synchronize_rcu`): 5 to 20 ms on a busy machine, in which the loop stands still.
/// That would happen at 64 descriptors, at 128, and so on, when a connection comes.
pub fn make_room() {
    let most = getrlimit(Resource::Nofile).current.map_or(ROOM, |limit| limit.min(ROOM));
    let last = i32::try_from(most.saturating_sub(1)).unwrap_or(i32::MAX);
    // Closed at once: the table stays. Where this is not allowed, it grows when it must.
    drop(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), last));
}
