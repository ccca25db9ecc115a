//! What a hooked call waits for: by its descriptor, and what that was connected to, or by the function itself.
//!
//! What is behind an address only others can know; they are asked at each connect(2). It must not know any service, nor how
//! waits are counted. Invariant: what is remembered of a number is void once that was closed.
#![allow(unsafe_code)]

use std::os::fd::RawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{sockaddr, socklen_t};

use super::descriptor::{DescriptorKind, NUMBERS, generation, kind};
use super::names::Symbol;
use crate::waits::NO_FD;
use crate::{Readiness, WaitKind};

/// Which service a coroutine connects to, if it is known: below [`SERVICES_MAX`](crate::waits::SERVICES_MAX). It gets the
/// address as the kernel does: a `struct sockaddr`.
pub type ServiceOf = fn(&[u8]) -> Option<u8>;

static ASK: OnceLock<ServiceOf> = OnceLock::new();

/// Asks at each connect(2) of a coroutine what the connection is for. The first call counts.
pub fn on_connect(ask: ServiceOf) {
    let _ = ASK.set(ask);
}

/// By descriptor number: the lower 24 bits of its generation, and the service in the upper 8, plus 1. Zero pages until touched.
static CONNECTED: [AtomicU32; NUMBERS] = [const { AtomicU32::new(0) }; NUMBERS];
const GENERATION: u32 = (1 << 24) - 1;

fn connected(fd: RawFd) -> Option<&'static AtomicU32> {
    CONNECTED.get(usize::try_from(fd).ok()?)
}

/// A coroutine connects the socket. The address is the one that it gave, of this length.
pub fn connects(fd: RawFd, address: *const sockaddr, length: socklen_t) {
    let Some(ask) = ASK.get().filter(|_| !address.is_null()) else { return };
    // The kernel refuses longer ones.
    let length = (length as usize).min(size_of::<libc::sockaddr_storage>());
    // SAFETY: by the caller's contract, that of connect(2), so many bytes can be read there.
    let address = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) };
    if let Some(word) = connected(fd) {
        let service = ask(address).map_or(0, |service| u32::from(service) + 1);
        word.store(service << 24 | generation(fd) & GENERATION, Ordering::Relaxed);
    }
}

/// What a wait for the descriptor is for.
pub fn of_descriptor(fd: RawFd) -> WaitKind {
    if let Some(word) = connected(fd).map(|word| word.load(Ordering::Relaxed))
        && let Some(service) = (word >> 24).checked_sub(1)
        && word & GENERATION == generation(fd) & GENERATION
    {
        return WaitKind::Service(service as u8);
    }
    match kind(fd) {
        Some(DescriptorKind::Socket) => WaitKind::Server,
        Some(DescriptorKind::File) => WaitKind::Disk,
        Some(DescriptorKind::Stream) | None => WaitKind::Pipe,
    }
}

/// What a wait for several is for: the first connection among them, or else the first descriptor; and that. None of them: a
/// time.
pub fn of_descriptors(fds: &[(RawFd, Readiness)]) -> (WaitKind, RawFd) {
    let mut kinds = fds.iter().filter(|(fd, _)| *fd >= 0).map(|(fd, _)| (of_descriptor(*fd), *fd));
    let Some(first) = kinds.next() else { return (WaitKind::Sleep, NO_FD) };
    let says_little =
        |(kind, _): &(WaitKind, RawFd)| matches!(kind, WaitKind::Server | WaitKind::Pipe | WaitKind::Disk);
    std::iter::once(first).chain(kinds).find(|kind| !says_little(kind)).unwrap_or(first)
}

/// What a call without a descriptor that could tell waits for.
pub fn of_symbol(symbol: Symbol) -> WaitKind {
    use Symbol::*;
    match symbol {
        sleep | usleep | nanosleep | clock_nanosleep | sigtimedwait | sigwaitinfo | sigwait => {
            WaitKind::Sleep
        }
        wait | wait3 | wait4 | waitpid | waitid | pclose | system | posix_spawn | posix_spawnp => {
            WaitKind::Child
        }
        getaddrinfo | getnameinfo | gethostbyname | gethostbyname2 | gethostbyname_r | gethostbyname2_r
        | gethostbyaddr | gethostbyaddr_r | res_search | res_query | res_nsearch | res_nquery => {
            WaitKind::Dns
        }
        pread | pread64 | pwrite | pwrite64 | copy_file_range | read | readv | __read_chk | write
        | writev | sendfile | sendfile64 | fsync | fdatasync => WaitKind::Disk,
        // Those of FIFOs wait for the other end, those of files for the disk.
        open | open64 | __open_2 | __open64_2 | openat | openat64 => WaitKind::Disk,
        connect => WaitKind::Server,
        _ => WaitKind::Lock,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_descriptors_are_waited_for_as_the_one_that_says_most() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let pipe = (std::os::fd::AsRawFd::as_raw_fd(&reader), Readiness::READ);
        assert_eq!(of_descriptors(&[]), (WaitKind::Sleep, NO_FD));
        assert_eq!(of_descriptors(&[(-1, Readiness::READ)]), (WaitKind::Sleep, NO_FD));
        assert_eq!(of_descriptors(&[pipe]), (WaitKind::Pipe, pipe.0));
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
        assert_eq!(of_descriptor(fd), WaitKind::Server);
        on_connect(|address| (address == b"known").then_some(3));
        let connect = |address: &[u8]| connects(fd, address.as_ptr().cast(), address.len() as socklen_t);
        connect(b"known");
        assert_eq!(of_descriptors(&[pipe, (fd, Readiness::READ)]), (WaitKind::Service(3), fd));
        connect(b"other");
        assert_eq!(of_descriptor(fd), WaitKind::Server);
    }
}
