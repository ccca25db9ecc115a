//! The files of unix sockets: created, given their permission bits, removed.
//!
//! Must not know what accepts. Invariant: a socket has its permission bits from its first moment on; only sockets are
//! removed or changed, and no link is followed in a directory that others can write to.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, chmod};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::umask;

use super::bound_address::BoundAddress;
use crate::guarded_path::{GuardedPath, handle_path};

/// A listening socket at `path`; it replaces one of a server that is gone.
///
/// # Errors
/// The kernel's error; `ADDRINUSE` for a socket on which a server listens, or another file.
pub fn bind(path: &Path, mode: u32, backlog: i32) -> Result<(OwnedFd, BoundAddress), Errno> {
    let guarded = GuardedPath::find(path).map_err(errno)?;
    let address = SocketAddrUnix::new(guarded.path())?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let new = || net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let socket = new()?;
    // bind(2) creates the file with the bits of 0777 that the mask leaves: no later call has to find it again.
    let bind = || {
        let before = umask(Mode::from_raw_mode(!mode & 0o777));
        let bound = net::bind(&socket, &address);
        umask(before);
        bound
    };
    match bind() {
        // The socket of a server that is gone refuses connections; one that answers belongs to a running server. Any
        // other file refuses them as well, and is not ours to remove.
        Err(Errno::ADDRINUSE)
            if is_socket(&guarded) && net::connect(&new()?, &address) == Err(Errno::CONNREFUSED) =>
        {
            guarded.remove().and_then(|()| bind())?;
        }
        other => other?,
    }
    net::listen(&socket, backlog)?;
    Ok((socket, BoundAddress::Unix(path.into())))
}

/// Changes the permission bits of a bound socket.
///
/// # Errors
/// The kernel's error; `NOTSOCK` if another file has taken its name.
pub fn set_mode(path: &Path, mode: u32) -> Result<(), Errno> {
    let (handle, found) = GuardedPath::find(path).map_err(errno)?.look()?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
        return Err(Errno::NOTSOCK);
    }
    if found.st_mode & 0o777 == mode {
        return Ok(());
    }
    // It may be a second name of another server's socket.
    if found.st_nlink > 1 || found.st_uid != rustix::process::geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    chmod(handle_path(handle.as_fd()), Mode::from_raw_mode(mode))
}

/// Removes a socket's file.
pub fn unlink(path: &Path) {
    // If it is already gone, nothing is left to do.
    let _ = GuardedPath::find(path).map(|guarded| is_socket(&guarded) && guarded.remove().is_ok());
}

fn is_socket(guarded: &GuardedPath) -> bool {
    guarded.look().is_ok_and(|(_, found)| FileType::from_raw_mode(found.st_mode) == FileType::Socket)
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::LOOP)
}
