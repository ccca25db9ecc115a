//! open and openat. Opening a named pipe waits until another process opens the other end (fifo(7)); every other open is
//! the plain call. To tell them apart costs a coroutine one stat(2).
//!
//! Opening for writing is tried without blocking and repeated after pauses. Opening for reading cannot be tried (it would
//! succeed at once): a dedicated thread waits, so that pipes without a writer cannot occupy all offload threads.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};

use libc::{c_char, c_int, mode_t};

use crate::hook::backoff::Backoff;
use crate::hook::call::Call;
use crate::hook::child::owner;
use crate::hook::descriptor::close;
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::raw;

unsafe fn plain(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { raw::syscall!(SYS_openat, directory, path, flags, mode) as c_int }
}

fn is_fifo(directory: c_int, path: &CStr) -> bool {
    let saved = errno();
    // SAFETY: the all-zero stat is valid storage.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: it only writes `stat`. It is not hooked.
    let found = unsafe { libc::fstatat(directory, path.as_ptr(), &raw mut stat, 0) } == 0;
    set_errno(saved);
    found && stat.st_mode & libc::S_IFMT == libc::S_IFIFO
}

pub unsafe fn open(call: Option<Call>, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { openat(call, libc::AT_FDCWD, path, flags, mode) }
}

/// glibc's fortified alias: it must not create a file, so it has no mode.
pub unsafe fn open_2(call: Option<Call>, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { openat(call, libc::AT_FDCWD, path, flags, 0) }
}

pub unsafe fn openat(
    call: Option<Call>,
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    // SAFETY: by the caller's contract.
    owner::opened(call, unsafe { open_when_ready(call, directory, path, flags, mode) })
}

unsafe fn open_when_ready(
    call: Option<Call>,
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    let never_waits = libc::O_NONBLOCK | libc::O_PATH | libc::O_DIRECTORY | libc::O_EXCL;
    let one_way = matches!(flags & libc::O_ACCMODE, libc::O_RDONLY | libc::O_WRONLY);
    let call = call.filter(|_| one_way && flags & never_waits == 0 && !path.is_null());
    // SAFETY: by the caller's contract.
    let fifo = call.filter(|_| is_fifo(directory, unsafe { CStr::from_ptr(path) }));
    let Some(call) = fifo.filter(|call| !call.must_block()) else {
        // SAFETY: by the caller's contract.
        return unsafe { plain(directory, path, flags, mode) };
    };
    // SAFETY: by the caller's contract.
    let path = unsafe { CStr::from_ptr(path) }.to_owned();
    // A child that another request starts meanwhile must not keep this end open: the reader would wait for that child's
    // end.
    let flags = flags | libc::O_CLOEXEC;
    if flags & libc::O_ACCMODE == libc::O_WRONLY {
        // SAFETY: the path is live.
        return until_read(call, || unsafe {
            plain(directory, path.as_ptr(), flags | libc::O_NONBLOCK, mode)
        });
    }
    until_written(call, directory, path, flags)
}

/// Opens for writing once there is a reader: `ENXIO` says that there is none.
fn until_read(mut call: Call, attempt: impl Fn() -> c_int) -> c_int {
    let (saved, mut backoff) = (errno(), Backoff::new());
    loop {
        let fd = attempt();
        if fd >= 0 {
            let flags = raw::fcntl(fd, libc::F_GETFL, 0);
            raw::fcntl(fd, libc::F_SETFL, flags as usize & !(libc::O_NONBLOCK as usize));
            set_errno(saved);
            return fd;
        }
        if errno() != libc::ENXIO {
            return fd;
        }
        if let Err(stop) = call.pause(&mut backoff, None) {
            return fail(stop.errno()) as c_int;
        }
        call = call.again();
    }
}

/// Opens for reading on a thread. The current directory belongs to the coroutine only while it runs, so the thread
/// gets a descriptor of it.
fn until_written(call: Call, directory: c_int, path: CString, flags: c_int) -> c_int {
    let saved = errno();
    let from = match directory {
        // SAFETY: a C string.
        libc::AT_FDCWD => unsafe { plain(libc::AT_FDCWD, c".".as_ptr(), libc::O_PATH | libc::O_CLOEXEC, 0) },
        directory => raw::fcntl(directory, libc::F_DUPFD_CLOEXEC, 0) as c_int,
    };
    if from < 0 {
        return -1;
    }
    let (from, other) = (Arc::new(Opened(from, 0)), Arc::new(Mutex::new(None)));
    let (name, base, keeps) = (path.clone(), Arc::clone(&from), Arc::clone(&other));
    let opened = call.offload_apart(move || {
        // SAFETY: the path is the thread's own.
        let fd = unsafe { plain(base.0, name.as_ptr(), flags, 0) };
        let opened = Opened(fd, errno());
        drop(keeps);
        opened
    });
    if let Some(opened) = opened {
        return opened.take(saved);
    }
    // Opened for both, the pipe does not block, and it lets the thread's open succeed; so it stays open until the
    // thread is done.
    let both = flags & !libc::O_ACCMODE | libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the path is live.
    let fd = unsafe { plain(from.0, path.as_ptr(), both, 0) };
    *other.lock().unwrap_or_else(PoisonError::into_inner) = Some(Opened(fd, 0));
    fail(libc::ECANCELED) as c_int
}

/// A descriptor that is closed if no caller takes it, or an errno.
struct Opened(c_int, c_int);

impl Opened {
    fn take(mut self, saved: c_int) -> c_int {
        let fd = std::mem::replace(&mut self.0, -1);
        set_errno(if fd < 0 { self.1 } else { saved });
        fd
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.0 >= 0 {
            // SAFETY: no other code has it.
            unsafe { close::close(None, self.0) };
        }
    }
}
