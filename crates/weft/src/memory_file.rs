//! Memory with a descriptor, which processes share and a reload hands on.
//!
//! Must not know what is in it. Invariant: it can be made wherever the operator allows memory at all.

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;

/// A file in memory that can be sealed; `name` is what proc(5) shows of it. Where the operator allows no memory that could
/// be executed (`vm.memfd_noexec`), it has to say that it never is, which kernels before 6.3 do not know.
///
/// # Errors
/// Those of memfd_create(2).
pub fn memory_file(name: &str) -> rustix::io::Result<OwnedFd> {
    match memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING),
        made => made,
    }
}
