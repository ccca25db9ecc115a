//! How long a call on a descriptor may wait: the time-out of its socket, and whether it may wait at all.

use std::os::fd::RawFd;

use libc::c_int;

use crate::hook::{descriptor, raw};
use crate::{Nanos, clock};

/// `SO_RCVTIMEO` or `SO_SNDTIMEO` of one call: read when the call first waits, and used as one deadline for the
/// whole call.
pub struct SocketTimeout {
    option: Option<c_int>,
    deadline: Option<Nanos>,
}

impl SocketTimeout {
    /// For receiving calls and accept.
    pub const RECEIVE: SocketTimeout = SocketTimeout { option: Some(libc::SO_RCVTIMEO), deadline: None };
    /// For sending calls and connect.
    pub const SEND: SocketTimeout = SocketTimeout { option: Some(libc::SO_SNDTIMEO), deadline: None };
    /// Of descriptors that are not sockets: none.
    pub const NONE: SocketTimeout = SocketTimeout { option: None, deadline: None };

    /// The deadline, if the socket has a time-out.
    pub fn deadline(&mut self, fd: RawFd) -> Option<Nanos> {
        if let Some(option) = self.option.take() {
            self.deadline = descriptor::socket_timeout(fd, option).map(|span| clock::now() + span);
        }
        self.deadline
    }
}

/// Whether the descriptor is in non-blocking mode. One system call: ask only before parking.
pub fn is_nonblocking(fd: RawFd) -> bool {
    let flags = raw::fcntl(fd, libc::F_GETFL, 0);
    flags < 0 || flags as c_int & libc::O_NONBLOCK != 0
}
