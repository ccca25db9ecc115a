//! THE table: every libc symbol this executable provides, its kind, and the code it delegates to.
//!
//! A row makes one exported function. Its body asks whether a coroutine calls ([`Call::enter`]) and delegates; it holds no
//! logic. Kinds: `ready` waits until the descriptor is ready, `sleep` for a timer, `offload` for a thread; `note` is
//! bookkeeping and never waits. Names with `_chk` are what programs built with `_FORTIFY_SOURCE` call.
//!
//! `fcntl` is variadic in C and has a fixed third argument here: on x86_64 and aarch64 (System V and AAPCS64 on Linux) a
//! variadic integer or pointer argument is passed in the same register, and an absent one is a register not looked at.
#![allow(unsafe_code)]

use libc::{
    FILE, c_char, c_int, c_uint, c_void, clockid_t, epoll_event, fd_set, iovec, msghdr, nfds_t, off_t, pid_t,
    pollfd, sigset_t, size_t, sockaddr, socklen_t, ssize_t, timespec, timeval, useconds_t,
};

use super::call::Call;
use super::note;
use super::ready::{connect, poll, receive, select, send};
use super::sleep::time;

/// What a hook waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A descriptor's readiness.
    Ready,
    /// A timer.
    Sleep,
    /// An offload thread.
    Offload,
    /// Nothing.
    Note,
}

/// One exported symbol.
pub struct Row {
    /// Its name in libc.
    pub name: &'static str,
    /// What it waits for.
    pub kind: Kind,
    /// The function of this executable. Being named here keeps it through dead-code elimination.
    pub address: *const (),
}

// SAFETY: the address is that of a function and never written through.
unsafe impl Sync for Row {}

macro_rules! kind {
    (ready) => {
        Kind::Ready
    };
    (sleep) => {
        Kind::Sleep
    };
    (offload) => {
        Kind::Offload
    };
    (note) => {
        Kind::Note
    };
}

macro_rules! table {
    ($($kind:ident $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:path;)*) => {
        /// Names a row: an index into [`SYMBOLS`].
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        #[repr(usize)]
        pub enum Symbol { $($name),* }

        /// Every exported symbol.
        pub static SYMBOLS: &[Row] = &[
            $(Row { name: stringify!($name), kind: kind!($kind), address: $name as *const () }),*
        ];

        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the caller keeps libc's contract of this function, which is all the body relies on.
                unsafe { $body(Call::enter(Symbol::$name), $($argument),*) }
            }
        )*
    };
}

table! {
    ready recv(fd: c_int, buffer: *mut c_void, length: size_t, flags: c_int) -> ssize_t = receive::recv;
    ready recvfrom(fd: c_int, buffer: *mut c_void, length: size_t, flags: c_int, address: *mut sockaddr, address_length: *mut socklen_t) -> ssize_t = receive::recvfrom;
    ready recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t = receive::recvmsg;
    ready read(fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t = receive::read;
    ready readv(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t = receive::readv;
    ready __recv_chk(fd: c_int, buffer: *mut c_void, length: size_t, room: size_t, flags: c_int) -> ssize_t = receive::recv_chk;
    ready __recvfrom_chk(fd: c_int, buffer: *mut c_void, length: size_t, room: size_t, flags: c_int, address: *mut sockaddr, address_length: *mut socklen_t) -> ssize_t = receive::recvfrom_chk;
    ready __read_chk(fd: c_int, buffer: *mut c_void, length: size_t, room: size_t) -> ssize_t = receive::read_chk;
    ready send(fd: c_int, buffer: *const c_void, length: size_t, flags: c_int) -> ssize_t = send::send;
    ready sendto(fd: c_int, buffer: *const c_void, length: size_t, flags: c_int, address: *const sockaddr, address_length: socklen_t) -> ssize_t = send::sendto;
    ready sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t = send::sendmsg;
    ready write(fd: c_int, buffer: *const c_void, length: size_t) -> ssize_t = send::write;
    ready writev(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t = send::writev;
    ready sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t = send::sendfile;
    ready sendfile64(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t = send::sendfile;
    ready connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int = connect::connect;
    ready accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int = connect::accept;
    ready accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int = connect::accept4;
    ready poll(fds: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int = poll::poll;
    ready ppoll(fds: *mut pollfd, count: nfds_t, time: *const timespec, mask: *const sigset_t) -> c_int = poll::ppoll;
    ready __poll_chk(fds: *mut pollfd, count: nfds_t, timeout_ms: c_int, room: size_t) -> c_int = poll::poll_chk;
    ready __ppoll_chk(fds: *mut pollfd, count: nfds_t, time: *const timespec, mask: *const sigset_t, room: size_t) -> c_int = poll::ppoll_chk;
    ready epoll_wait(fd: c_int, events: *mut epoll_event, events_max: c_int, timeout_ms: c_int) -> c_int = poll::epoll_wait;
    ready epoll_pwait(fd: c_int, events: *mut epoll_event, events_max: c_int, timeout_ms: c_int, mask: *const sigset_t) -> c_int = poll::epoll_pwait;
    ready select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *mut timeval) -> c_int = select::select;
    ready pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *const timespec, mask: *const sigset_t) -> c_int = select::pselect;

    sleep sleep(seconds: c_uint) -> c_uint = time::sleep;
    sleep usleep(micros: useconds_t) -> c_int = time::usleep;
    sleep nanosleep(span: *const timespec, left: *mut timespec) -> c_int = time::nanosleep;
    sleep clock_nanosleep(clock: clockid_t, flags: c_int, span: *const timespec, left: *mut timespec) -> c_int = time::clock_nanosleep;

    note close(fd: c_int) -> c_int = note::close;
    note close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int = note::close_range;
    note closefrom(first: c_int) = note::closefrom;
    note fclose(file: *mut FILE) -> c_int = note::fclose;
    note dup2(from: c_int, to: c_int) -> c_int = note::dup2;
    note dup3(from: c_int, to: c_int, flags: c_int) -> c_int = note::dup3;
    note fork() -> pid_t = note::fork;
    note vfork() -> pid_t = note::fork;
    note dlopen(name: *const c_char, flags: c_int) -> *mut c_void = note::dlopen;
}
