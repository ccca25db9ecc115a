//! THE table: every libc symbol this executable provides, its kind, and the code it delegates to.
//!
//! A row makes one exported function. Its body asks whether a coroutine calls ([`Call::enter`]) and delegates; it holds no
//! logic. Kinds: `ready` waits until the descriptor is ready, `sleep` for a timer, `offload` for a thread; `note` is
//! bookkeeping and never waits. Names with `_chk` are what programs built with `_FORTIFY_SOURCE` call.
//!
//! `fcntl` and `open` are variadic in C and have a fixed last argument here: on x86_64 and aarch64 (System V and AAPCS64 on Linux) a
//! variadic integer or pointer argument is passed in the same register, and an absent one is a register not looked at.
#![allow(unsafe_code)]

use libc::{
    FILE, addrinfo, c_char, c_int, c_long, c_uchar, c_uint, c_void, clockid_t, epoll_event, fd_set, hostent,
    id_t, idtype_t, iovec, mode_t, msghdr, nfds_t, off_t, pid_t, pollfd, pthread_cond_t, pthread_mutex_t,
    pthread_rwlock_t, pthread_spinlock_t, pthread_t, rusage, sem_t, sembuf, sigaction as sigaction_t,
    sighandler_t, siginfo_t, sigset_t, size_t, sockaddr, socklen_t, ssize_t, timespec, timeval, useconds_t,
};

use super::call::Call;
use super::interrupt;
use super::note;
use super::offload::{address, disk, fifo, lookup, search};
use super::open;
use super::ready::{connect, poll, receive, select, send};
use super::sleep::{condition, lock, mutex, process, signal as waited_signal, spawn, sysv, time};

/// What a hook waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookKind {
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
    pub kind: HookKind,
    /// The function of this executable. Being named here keeps it through dead-code elimination.
    pub address: *const (),
}

// SAFETY: the address is that of a function and never written through.
unsafe impl Sync for Row {}

macro_rules! kind {
    (ready) => {
        HookKind::Ready
    };
    (sleep) => {
        HookKind::Sleep
    };
    (offload) => {
        HookKind::Offload
    };
    (note) => {
        HookKind::Note
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
    sleep flock(fd: c_int, operation: c_int) -> c_int = lock::flock;
    sleep fcntl(fd: c_int, command: c_int, argument: usize) -> c_int = lock::fcntl;
    sleep fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int = lock::fcntl;
    sleep lockf(fd: c_int, command: c_int, length: off_t) -> c_int = lock::lockf;
    sleep lockf64(fd: c_int, command: c_int, length: off_t) -> c_int = lock::lockf;
    sleep wait(status: *mut c_int) -> pid_t = process::wait;
    sleep wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t = process::wait3;
    sleep wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t = process::wait4;
    sleep waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t = process::waitpid;
    sleep waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int = process::waitid;
    sleep pclose(file: *mut FILE) -> c_int = spawn::pclose;
    sleep system(command: *const c_char) -> c_int = spawn::system;
    sleep sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, span: *const timespec) -> c_int = waited_signal::sigtimedwait;
    sleep sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int = waited_signal::sigwaitinfo;
    sleep sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int = waited_signal::sigwait;
    sleep semop(id: c_int, operations: *mut sembuf, count: size_t) -> c_int = sysv::semop;
    sleep semtimedop(id: c_int, operations: *mut sembuf, count: size_t, span: *const timespec) -> c_int = sysv::semtimedop;
    sleep msgsnd(id: c_int, message: *const c_void, length: size_t, flags: c_int) -> c_int = sysv::msgsnd;
    sleep msgrcv(id: c_int, message: *mut c_void, length: size_t, kind: c_long, flags: c_int) -> ssize_t = sysv::msgrcv;
    sleep pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int = mutex::lock;
    note pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int = mutex::try_lock;
    note pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int = mutex::unlock;
    sleep pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int = mutex::spin_lock;
    sleep pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int = condition::wait;
    sleep pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int = condition::timed_wait;
    sleep pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, time: *const timespec) -> c_int = condition::clock_wait;
    sleep pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int = mutex::read_lock;
    sleep pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int = mutex::write_lock;
    sleep pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int = mutex::join;
    sleep sem_wait(semaphore: *mut sem_t) -> c_int = mutex::semaphore_wait;

    offload getaddrinfo(node: *const c_char, service: *const c_char, hints: *const addrinfo, list: *mut *mut addrinfo) -> c_int = address::getaddrinfo;
    offload getnameinfo(address: *const sockaddr, length: socklen_t, host: *mut c_char, host_length: socklen_t, service: *mut c_char, service_length: socklen_t, flags: c_int) -> c_int = address::getnameinfo;
    offload gethostbyname(name: *const c_char) -> *mut hostent = lookup::gethostbyname;
    offload gethostbyname2(name: *const c_char, family: c_int) -> *mut hostent = lookup::gethostbyname2;
    offload gethostbyname_r(name: *const c_char, host: *mut hostent, buffer: *mut c_char, length: size_t, found: *mut *mut hostent, reason: *mut c_int) -> c_int = lookup::gethostbyname_r;
    offload gethostbyname2_r(name: *const c_char, family: c_int, host: *mut hostent, buffer: *mut c_char, length: size_t, found: *mut *mut hostent, reason: *mut c_int) -> c_int = lookup::gethostbyname2_r;
    offload gethostbyaddr(address: *const c_void, length: socklen_t, family: c_int) -> *mut hostent = lookup::gethostbyaddr;
    offload gethostbyaddr_r(address: *const c_void, address_length: socklen_t, family: c_int, host: *mut hostent, buffer: *mut c_char, length: size_t, found: *mut *mut hostent, reason: *mut c_int) -> c_int = lookup::gethostbyaddr_r;
    offload res_search(name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar, room: c_int) -> c_int = search::res_search;
    offload res_query(name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar, room: c_int) -> c_int = search::res_query;
    offload res_nsearch(state: *mut c_void, name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar, room: c_int) -> c_int = search::res_nsearch;
    offload res_nquery(state: *mut c_void, name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar, room: c_int) -> c_int = search::res_nquery;
    offload pread(fd: c_int, buffer: *mut c_void, length: size_t, at: off_t) -> ssize_t = disk::pread;
    offload pread64(fd: c_int, buffer: *mut c_void, length: size_t, at: off_t) -> ssize_t = disk::pread;
    offload pwrite(fd: c_int, buffer: *const c_void, length: size_t, at: off_t) -> ssize_t = disk::pwrite;
    offload pwrite64(fd: c_int, buffer: *const c_void, length: size_t, at: off_t) -> ssize_t = disk::pwrite;
    offload copy_file_range(from: c_int, from_offset: *mut off_t, to: c_int, to_offset: *mut off_t, length: size_t, flags: c_uint) -> ssize_t = disk::copy_file_range;
    offload open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int = fifo::open;
    offload open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int = fifo::open;
    offload __open_2(path: *const c_char, flags: c_int) -> c_int = fifo::open_2;
    offload __open64_2(path: *const c_char, flags: c_int) -> c_int = fifo::open_2;
    offload openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int = fifo::openat;
    offload openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int = fifo::openat;
    offload fsync(fd: c_int) -> c_int = disk::fsync;
    offload fdatasync(fd: c_int) -> c_int = disk::fdatasync;

    note sigaction(signal: c_int, new: *const sigaction_t, old: *mut sigaction_t) -> c_int = interrupt::sigaction;
    note signal(number: c_int, handler: sighandler_t) -> sighandler_t = interrupt::signal;
    note close(fd: c_int) -> c_int = note::close;
    note close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int = note::close_range;
    note closefrom(first: c_int) = note::closefrom;
    note fclose(file: *mut FILE) -> c_int = note::fclose;
    note socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int = open::socket;
    note socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int = open::socketpair;
    note pipe(ends: *mut c_int) -> c_int = open::pipe;
    note pipe2(ends: *mut c_int, flags: c_int) -> c_int = open::pipe2;
    note dup(fd: c_int) -> c_int = open::dup;
    note mkstemp(template: *mut c_char) -> c_int = open::mkstemp;
    note mkstemp64(template: *mut c_char) -> c_int = open::mkstemp;
    note dup2(from: c_int, to: c_int) -> c_int = note::dup2;
    note dup3(from: c_int, to: c_int, flags: c_int) -> c_int = note::dup3;
    note fork() -> pid_t = note::fork;
    // A vfork that returns from here would return on a stack its child has used; POSIX allows it to be fork.
    note vfork() -> pid_t = note::fork;
    note popen(command: *const c_char, mode: *const c_char) -> *mut FILE = spawn::popen;
    note dlopen(name: *const c_char, flags: c_int) -> *mut c_void = note::dlopen;
}
