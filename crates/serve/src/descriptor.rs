//! Which descriptors the server takes: those that its peers decide on stay out of the range of select(2).
//!
//! Must not know what a descriptor is for. Invariant: where the process may have high numbers, select() keeps low ones.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::fcntl_dupfd_cloexec;

/// PHP's select() can only use numbers below 1024 (FD_SETSIZE), so connections must leave some of them free. A
/// connection whose number is above the first constant is moved to the second one or higher. As long as there are few
/// connections, none is moved.
const DESCRIPTOR_LOW_MAX: i32 = 511;
const DESCRIPTOR_HIGH_MIN: i32 = 1024;

/// Moves a descriptor whose lifetime the peer decides out of the range of PHP's select().
pub(crate) fn out_of_selects_way(low: OwnedFd) -> OwnedFd {
    if (DESCRIPTOR_LOW_MAX + 1..DESCRIPTOR_HIGH_MIN).contains(&low.as_raw_fd()) {
        // RLIMIT_NOFILE may not allow such numbers; then the low one must do.
        return fcntl_dupfd_cloexec(&low, DESCRIPTOR_HIGH_MIN).unwrap_or(low);
    }
    low
}
