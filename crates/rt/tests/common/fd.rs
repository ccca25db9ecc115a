//! libc's calls on descriptors, with slices in place of pointers.
#![allow(unsafe_code, dead_code)]

use libc::c_int;

/// errno of the last call.
pub fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

/// A connected pair of Unix sockets, with this type and these flags.
pub fn socket_pair(kind: c_int) -> [c_int; 2] {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) }, 0);
    fds
}

/// A pipe: the reading end, then the writing end.
pub fn pipe() -> [c_int; 2] {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { libc::pipe(fds.as_mut_ptr()) }, 0);
    fds
}

/// A connected pair of TCP sockets.
pub fn tcp_pair() -> [c_int; 2] {
    use std::os::fd::IntoRawFd;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_nodelay(true).unwrap();
    let (server, _) = listener.accept().unwrap();
    server.set_nodelay(true).unwrap();
    [client.into_raw_fd(), server.into_raw_fd()]
}

/// Sends bytes with a copy of a descriptor (unix(7), `SCM_RIGHTS`).
pub fn send_descriptor(fd: c_int, sent: c_int, bytes: &[u8]) {
    let mut control = [0_u64; 4];
    let mut vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: the message is of live values, with room for one header and one descriptor.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as _;
        *libc::CMSG_DATA(header).cast::<c_int>() = sent;
        assert_eq!(libc::sendmsg(fd, &raw const message, 0), bytes.len() as isize);
    }
}

/// recv(2).
pub fn recv(fd: c_int, buffer: &mut [u8], flags: c_int) -> isize {
    // SAFETY: the buffer is live.
    unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), flags) }
}

/// send(2), without SIGPIPE.
pub fn send(fd: c_int, buffer: &[u8]) -> isize {
    // SAFETY: the buffer is live.
    unsafe { libc::send(fd, buffer.as_ptr().cast(), buffer.len(), libc::MSG_NOSIGNAL) }
}

/// read(2).
pub fn read(fd: c_int, buffer: &mut [u8]) -> isize {
    // SAFETY: the buffer is live.
    unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) }
}

/// write(2).
pub fn write(fd: c_int, buffer: &[u8]) -> isize {
    // SAFETY: the buffer is live.
    unsafe { libc::write(fd, buffer.as_ptr().cast(), buffer.len()) }
}

/// close(2).
pub fn close(fd: c_int) {
    // SAFETY: the tests own what they close.
    assert_eq!(unsafe { libc::close(fd) }, 0);
}

/// Sets `SO_RCVTIMEO` or `SO_SNDTIMEO`.
pub fn set_timeout(fd: c_int, option: c_int, span_ms: i64) {
    let time = libc::timeval { tv_sec: 0, tv_usec: span_ms * 1_000 };
    let (value, length) = (&raw const time, size_of_val(&time) as u32);
    // SAFETY: the value is live and of the length told.
    assert_eq!(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, value.cast(), length) }, 0);
}
