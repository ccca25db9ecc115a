//! The names of libc's functions that this executable provides, and what each one waits for.
//!
//! This is the lowest layer of the hooks: any other file may name a symbol, and this file must not know what a hook does.
//! Invariant: each name has exactly one row in the table of `symbols`; the compiler checks that.

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

macro_rules! names {
    ($($kind:ident: $($name:ident),*;)*) => {
        /// One of the symbols: an index into [`ALL`].
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        #[repr(usize)]
        pub enum Symbol { $($($name),*),* }

        /// The name and the kind of each symbol.
        pub static ALL: &[(&str, HookKind)] = &[$($((stringify!($name), kind!($kind))),*),*];

        impl Symbol {
            /// What it waits for.
            pub const fn kind(self) -> HookKind {
                match self {
                    $($(Symbol::$name => kind!($kind)),*),*
                }
            }
        }
    };
}

names! {
    ready:
        recv, recvfrom, recvmsg, recvmmsg, read, readv, __recv_chk, __recvfrom_chk, __read_chk, send, sendto,
        sendmsg, sendmmsg, write, writev, sendfile, sendfile64, connect, accept, accept4, poll, ppoll, __poll_chk,
        __ppoll_chk, epoll_wait, epoll_pwait, select, pselect;
    sleep:
        sleep, usleep, nanosleep, clock_nanosleep, flock, fcntl, fcntl64, lockf, lockf64, wait, wait3,
        wait4, waitpid, waitid, pclose, system, sigtimedwait, sigwaitinfo, sigwait, semop, semtimedop,
        msgsnd, msgrcv, pthread_mutex_lock, pthread_spin_lock, pthread_cond_wait,
        pthread_cond_timedwait, pthread_cond_clockwait, pthread_rwlock_rdlock, pthread_rwlock_wrlock,
        pthread_join, sem_wait, sem_timedwait, sem_clockwait;
    offload:
        getaddrinfo, getnameinfo, gethostbyname, gethostbyname2, gethostbyname_r, gethostbyname2_r,
        gethostbyaddr, gethostbyaddr_r, res_search, res_query, res_nsearch, res_nquery, pread, pread64,
        pwrite, pwrite64, copy_file_range, open, open64, __open_2, __open64_2, openat, openat64, fsync,
        fdatasync;
    note:
        pthread_mutex_trylock, pthread_mutex_unlock, sigaction, signal, sigprocmask, close, close_range, closefrom,
        fclose, socket, socketpair, pipe, pipe2, dup, mkstemp, mkstemp64, dup2, dup3, fork, vfork,
        popen, posix_spawn, posix_spawnp, dlopen;
}

impl Symbol {
    /// Its name in libc.
    pub fn name(self) -> &'static str {
        ALL[self as usize].0
    }

    /// Whether its hook decides itself when other coroutines may run first: none may before a record lock (fcntl(2))
    /// that is held for microseconds.
    #[inline(always)]
    pub const fn chooses_when_to_yield(self) -> bool {
        matches!(self, Symbol::fcntl | Symbol::fcntl64)
    }
}
