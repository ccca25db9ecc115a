//! THE table: every libc symbol this executable provides, its type, and the code it delegates to.
//!
//! A row makes one exported function. Its body asks whether a coroutine calls ([`Call::enter`]) and delegates; it holds no
//! logic. `names` says what each symbol waits for. Names with `_chk` are called by programs built with `_FORTIFY_SOURCE`.
//! This file imports all hooks, so no hook may import it.
//!
//! `fcntl` and `open` are variadic in C and have a fixed last argument here: on x86_64 and aarch64 (System V and AAPCS64
//! on Linux) a variadic integer or pointer argument is passed in the same register, and nothing reads the register of an
//! absent one.
#![allow(unsafe_code)]

use libc::{
    FILE, addrinfo, c_char, c_int, c_long, c_uchar, c_uint, c_void, clockid_t, epoll_event, fd_set, hostent,
    id_t, idtype_t, iovec, mmsghdr, mode_t, msghdr, nfds_t, off_t, pid_t, pollfd, posix_spawn_file_actions_t,
    posix_spawnattr_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t, pthread_t,
    rusage, sem_t, sembuf, sigaction as sigaction_t, sighandler_t, siginfo_t, sigset_t, size_t, sockaddr,
    socklen_t, ssize_t, timespec, timeval, useconds_t,
};

use super::call::Call;
use super::child::{fork, posix_spawn, spawn, wait};
use super::descriptor::{close, fifo, open};
use super::disk;
use super::library;
use super::lock::{condition, file as file_lock, mutex, polling, semaphore, sysv};
use super::names::{ALL, HookKind, Symbol};
use super::ready::{poll, select};
use super::resolver::{address, lookup, search};
use super::signal::{action, wait as waited_signal};
use super::socket::{connect, messages, receive, send};
use super::time::sleep;

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

macro_rules! table {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:path;)*) => {
        /// Every exported symbol.
        pub static SYMBOLS: &[Row] = &[
            $(Row { name: stringify!($name), kind: Symbol::$name.kind(), address: $name as *const () }),*
        ];

        // Each row has a different name, so as many rows as names are all of them.
        const _: () = assert!(SYMBOLS.len() == ALL.len());

        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the caller keeps libc's contract for this function, and the body relies on nothing
                // else.
                unsafe { $body(Call::enter(Symbol::$name), $($argument),*) }
            }
        )*
    };
}

table! {
    recv(fd: c_int, buffer: *mut c_void, length: size_t, flags: c_int) -> ssize_t = receive::recv;
    recvfrom(fd: c_int, buffer: *mut c_void, length: size_t, flags: c_int, address: *mut sockaddr, address_length: *mut socklen_t) -> ssize_t = receive::recvfrom;
    recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t = receive::recvmsg;
    recvmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, time: *mut timespec) -> c_int = messages::recvmmsg;
    read(fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t = receive::read;
    readv(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t = receive::readv;
    __recv_chk(fd: c_int, buffer: *mut c_void, length: size_t, room: size_t, flags: c_int) -> ssize_t = receive::recv_chk;
    __recvfrom_chk(fd: c_int, buffer: *mut c_void, length: size_t, room: size_t, flags: c_int, address: *mut sockaddr, address_length: *mut socklen_t) -> ssize_t = receive::recvfrom_chk;
    __read_chk(fd: c_int, buffer: *mut c_void, length: size_t, room: size_t) -> ssize_t = receive::read_chk;
    send(fd: c_int, buffer: *const c_void, length: size_t, flags: c_int) -> ssize_t = send::send;
    sendto(fd: c_int, buffer: *const c_void, length: size_t, flags: c_int, address: *const sockaddr, address_length: socklen_t) -> ssize_t = send::sendto;
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t = send::sendmsg;
    sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int = messages::sendmmsg;
    write(fd: c_int, buffer: *const c_void, length: size_t) -> ssize_t = send::write;
    writev(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t = send::writev;
    sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t = send::sendfile;
    sendfile64(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t = send::sendfile;
    connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int = connect::connect;
    accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int = connect::accept;
    accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int = connect::accept4;
    poll(fds: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int = poll::poll;
    ppoll(fds: *mut pollfd, count: nfds_t, time: *const timespec, mask: *const sigset_t) -> c_int = poll::ppoll;
    __poll_chk(fds: *mut pollfd, count: nfds_t, timeout_ms: c_int, room: size_t) -> c_int = poll::poll_chk;
    __ppoll_chk(fds: *mut pollfd, count: nfds_t, time: *const timespec, mask: *const sigset_t, room: size_t) -> c_int = poll::ppoll_chk;
    epoll_wait(fd: c_int, events: *mut epoll_event, events_max: c_int, timeout_ms: c_int) -> c_int = poll::epoll_wait;
    epoll_pwait(fd: c_int, events: *mut epoll_event, events_max: c_int, timeout_ms: c_int, mask: *const sigset_t) -> c_int = poll::epoll_pwait;
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *mut timeval) -> c_int = select::select;
    pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *const timespec, mask: *const sigset_t) -> c_int = select::pselect;

    sleep(seconds: c_uint) -> c_uint = sleep::sleep;
    usleep(micros: useconds_t) -> c_int = polling::usleep;
    nanosleep(span: *const timespec, left: *mut timespec) -> c_int = polling::nanosleep;
    clock_nanosleep(clock: clockid_t, flags: c_int, span: *const timespec, left: *mut timespec) -> c_int = sleep::clock_nanosleep;
    flock(fd: c_int, operation: c_int) -> c_int = file_lock::flock;
    fcntl(fd: c_int, command: c_int, argument: usize) -> c_int = file_lock::fcntl;
    fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int = file_lock::fcntl;
    lockf(fd: c_int, command: c_int, length: off_t) -> c_int = file_lock::lockf;
    lockf64(fd: c_int, command: c_int, length: off_t) -> c_int = file_lock::lockf;
    wait(status: *mut c_int) -> pid_t = wait::wait;
    wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t = wait::wait3;
    wait4(pid: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t = wait::wait4;
    waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t = wait::waitpid;
    waitid(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int = wait::waitid;
    pclose(file: *mut FILE) -> c_int = spawn::pclose;
    system(command: *const c_char) -> c_int = spawn::system;
    sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, span: *const timespec) -> c_int = waited_signal::sigtimedwait;
    sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int = waited_signal::sigwaitinfo;
    sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int = waited_signal::sigwait;
    semop(id: c_int, operations: *mut sembuf, count: size_t) -> c_int = sysv::semop;
    semtimedop(id: c_int, operations: *mut sembuf, count: size_t, span: *const timespec) -> c_int = sysv::semtimedop;
    msgsnd(id: c_int, message: *const c_void, length: size_t, flags: c_int) -> c_int = sysv::msgsnd;
    msgrcv(id: c_int, message: *mut c_void, length: size_t, kind: c_long, flags: c_int) -> ssize_t = sysv::msgrcv;
    pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int = mutex::lock;
    pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int = mutex::try_lock;
    pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int = mutex::unlock;
    pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int = mutex::spin_lock;
    pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int = condition::wait;
    pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int = condition::timed_wait;
    pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, time: *const timespec) -> c_int = condition::clock_wait;
    pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int = mutex::read_lock;
    pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int = mutex::write_lock;
    pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int = mutex::join;
    sem_wait(semaphore: *mut sem_t) -> c_int = semaphore::wait;
    sem_timedwait(semaphore: *mut sem_t, time: *const timespec) -> c_int = semaphore::timed_wait;
    sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, time: *const timespec) -> c_int = semaphore::clock_wait;

    getaddrinfo(node: *const c_char, service: *const c_char, hints: *const addrinfo, list: *mut *mut addrinfo) -> c_int = address::getaddrinfo;
    getnameinfo(address: *const sockaddr, length: socklen_t, host: *mut c_char, host_length: socklen_t, service: *mut c_char, service_length: socklen_t, flags: c_int) -> c_int = address::getnameinfo;
    gethostbyname(name: *const c_char) -> *mut hostent = lookup::gethostbyname;
    gethostbyname2(name: *const c_char, family: c_int) -> *mut hostent = lookup::gethostbyname2;
    gethostbyname_r(name: *const c_char, host: *mut hostent, buffer: *mut c_char, length: size_t, found: *mut *mut hostent, reason: *mut c_int) -> c_int = lookup::gethostbyname_r;
    gethostbyname2_r(name: *const c_char, family: c_int, host: *mut hostent, buffer: *mut c_char, length: size_t, found: *mut *mut hostent, reason: *mut c_int) -> c_int = lookup::gethostbyname2_r;
    gethostbyaddr(address: *const c_void, length: socklen_t, family: c_int) -> *mut hostent = lookup::gethostbyaddr;
    gethostbyaddr_r(address: *const c_void, address_length: socklen_t, family: c_int, host: *mut hostent, buffer: *mut c_char, length: size_t, found: *mut *mut hostent, reason: *mut c_int) -> c_int = lookup::gethostbyaddr_r;
    res_search(name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar, room: c_int) -> c_int = search::res_search;
    res_query(name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar, room: c_int) -> c_int = search::res_query;
    res_nsearch(state: *mut c_void, name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar, room: c_int) -> c_int = search::res_nsearch;
    res_nquery(state: *mut c_void, name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar, room: c_int) -> c_int = search::res_nquery;
    pread(fd: c_int, buffer: *mut c_void, length: size_t, at: off_t) -> ssize_t = disk::pread;
    pread64(fd: c_int, buffer: *mut c_void, length: size_t, at: off_t) -> ssize_t = disk::pread;
    pwrite(fd: c_int, buffer: *const c_void, length: size_t, at: off_t) -> ssize_t = disk::pwrite;
    pwrite64(fd: c_int, buffer: *const c_void, length: size_t, at: off_t) -> ssize_t = disk::pwrite;
    copy_file_range(from: c_int, from_offset: *mut off_t, to: c_int, to_offset: *mut off_t, length: size_t, flags: c_uint) -> ssize_t = disk::copy_file_range;
    open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int = fifo::open;
    open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int = fifo::open;
    __open_2(path: *const c_char, flags: c_int) -> c_int = fifo::open_2;
    __open64_2(path: *const c_char, flags: c_int) -> c_int = fifo::open_2;
    openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int = fifo::openat;
    openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int = fifo::openat;
    fsync(fd: c_int) -> c_int = disk::fsync;
    fdatasync(fd: c_int) -> c_int = disk::fdatasync;

    sigaction(signal: c_int, new: *const sigaction_t, old: *mut sigaction_t) -> c_int = action::sigaction;
    signal(number: c_int, handler: sighandler_t) -> sighandler_t = action::signal;
    sigprocmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int = action::sigprocmask;
    close(fd: c_int) -> c_int = close::close;
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int = close::close_range;
    closefrom(first: c_int) = close::closefrom;
    fclose(file: *mut FILE) -> c_int = close::fclose;
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int = open::socket;
    socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int = open::socketpair;
    pipe(ends: *mut c_int) -> c_int = open::pipe;
    pipe2(ends: *mut c_int, flags: c_int) -> c_int = open::pipe2;
    dup(fd: c_int) -> c_int = open::dup;
    mkstemp(template: *mut c_char) -> c_int = open::mkstemp;
    mkstemp64(template: *mut c_char) -> c_int = open::mkstemp;
    dup2(from: c_int, to: c_int) -> c_int = close::dup2;
    dup3(from: c_int, to: c_int, flags: c_int) -> c_int = close::dup3;
    fork() -> pid_t = fork::fork;
    // A vfork that returns from here would return on a stack that its child has used; POSIX allows vfork to be
    // fork.
    vfork() -> pid_t = fork::fork;
    popen(command: *const c_char, mode: *const c_char) -> *mut FILE = spawn::popen;
    posix_spawn(pid: *mut pid_t, path: *const c_char, actions: *const posix_spawn_file_actions_t,
        attributes: *const posix_spawnattr_t, arguments: *const *mut c_char, environment: *const *mut c_char) -> c_int
        = posix_spawn::posix_spawn;
    posix_spawnp(pid: *mut pid_t, file: *const c_char, actions: *const posix_spawn_file_actions_t,
        attributes: *const posix_spawnattr_t, arguments: *const *mut c_char, environment: *const *mut c_char) -> c_int
        = posix_spawn::posix_spawnp;
    dlopen(name: *const c_char, flags: c_int) -> *mut c_void = library::dlopen;
}
