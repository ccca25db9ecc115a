//! Which sockets of a SO_REUSEPORT group get new connections.
//!
//! Must not know why. Invariant: while the group is steered, sockets that joined it after the first `count` get no
//! connections, so they can be closed again without losing one.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

// Classic BPF (linux/filter.h, linux/bpf_common.h); a group's program returns the index of a socket in the order in which
// they joined (socket(7), SO_ATTACH_REUSEPORT_CBPF).
const LOAD_WORD_ABSOLUTE: u16 = 0x20;
const MODULO_CONSTANT: u16 = 0x94;
const RETURN_ACCUMULATOR: u16 = 0x16;
/// Loads a random number: SKF_AD_OFF + SKF_AD_RANDOM.
const RANDOM: u32 = 0xffff_f000 + 56;

/// Sends new connections of `socket`'s group to its first `count` sockets, at random.
///
/// # Errors
/// The kernel's error, before Linux 4.6.
pub fn to_first(socket: &OwnedFd, count: usize) -> io::Result<()> {
    let step = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let count = u32::try_from(count).map_err(io::Error::other)?;
    let mut program =
        [step(LOAD_WORD_ABSOLUTE, RANDOM), step(MODULO_CONSTANT, count), step(RETURN_ACCUMULATOR, 0)];
    let program = libc::sock_fprog { len: 3, filter: program.as_mut_ptr() };
    // SAFETY: the structure describes an array of three steps that outlives the call; the kernel copies both.
    unsafe {
        set(
            socket,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>(),
        )
    }
}

/// Lets the kernel spread new connections over the whole group again.
///
/// # Errors
/// `NotFound` if the group is not steered; the kernel's error, before Linux 5.3.
pub fn to_all(socket: &OwnedFd) -> io::Result<()> {
    let nothing = 0i32;
    // SAFETY: the option takes an int and ignores its value.
    unsafe { set(socket, libc::SO_DETACH_REUSEPORT_BPF, (&raw const nothing).cast(), size_of::<i32>()) }
}

/// # Safety
/// `value` points to `length` bytes of what `option` expects.
unsafe fn set(socket: &OwnedFd, option: i32, value: *const libc::c_void, length: usize) -> io::Result<()> {
    // SAFETY: as promised by the caller; the descriptor is open as long as `socket` lives.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, length as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
