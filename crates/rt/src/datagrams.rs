//! Datagrams of a socket in batches: recvmmsg(2) and sendmmsg(2), for the loop.
//!
//! Must not know what a datagram says. Invariants: nothing here waits; what is received is whole, because each place has
//! room for the largest datagram there is.
#![allow(unsafe_code)]

mod own_address;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{AF_INET, AF_INET6, c_long, c_void, iovec, mmsghdr, sockaddr_in, sockaddr_in6, sockaddr_storage};

use own_address::Control;
pub use own_address::tell_own_addresses;

/// Datagrams that have arrived at a socket since it was made, and for which its buffer had no room.
///
/// # Errors
/// Those of getsockopt(2).
pub fn overflowed(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // linux/sock_diag.h: SK_MEMINFO_DROPS is the last of SK_MEMINFO_VARS.
    const DROPS: usize = 8;
    const VARS: usize = 9;
    let mut seen = [0u32; VARS];
    let mut bytes = size_of_val(&seen) as libc::socklen_t;
    let to = seen.as_mut_ptr().cast::<c_void>();
    // SAFETY: the kernel writes at most so many bytes there, which are numbers.
    let done =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, to, &mut bytes) };
    if done == 0 { Ok(seen[DROPS]) } else { Err(io::Error::last_os_error()) }
}

/// Datagrams of one batch.
pub const BATCH: usize = 32;
/// Bytes of the largest datagram, and one place more than that.
const PLACE_BYTES: usize = 64 * 1024;

/// Room for a batch: 2 MiB, of which the kernel provides what is used.
pub struct Batch {
    bytes: Box<[u8]>,
    names: Box<[sockaddr_storage; BATCH]>,
    controls: Box<[Control; BATCH]>,
    lengths: [usize; BATCH],
    /// Which of the machine's addresses each was sent to, if the socket tells.
    own: [Option<IpAddr>; BATCH],
    count: usize,
}

/// One that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived<'b> {
    /// Who has sent it.
    pub from: SocketAddr,
    /// Which of the machine's addresses it was sent to, if the socket [tells](tell_own_addresses).
    pub to: Option<IpAddr>,
    /// What it says.
    pub bytes: &'b [u8],
}

/// One that is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'b> {
    /// Which of the machine's addresses it leaves from; `None`: the one that the socket is bound to, or the kernel chooses.
    pub from: Option<IpAddr>,
    /// Whom it is for.
    pub to: SocketAddr,
    /// What it says.
    pub bytes: &'b [u8],
}

impl Default for Batch {
    fn default() -> Batch {
        // SAFETY: zeros are a name of no family.
        let nobody: sockaddr_storage = unsafe { std::mem::zeroed() };
        let names = Box::new([nobody; BATCH]);
        let controls = Box::new([Control::default(); BATCH]);
        let bytes = vec![0; BATCH * PLACE_BYTES].into();
        Batch { bytes, names, controls, lengths: [0; BATCH], own: [None; BATCH], count: 0 }
    }
}

impl Batch {
    /// Receives what has arrived, at most [`BATCH`] datagrams; returns how many that are.
    ///
    /// # Errors
    /// Those of recvmmsg(2); EAGAIN if nothing has arrived.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.count = 0;
        let places = self.bytes.chunks_exact_mut(PLACE_BYTES);
        let mut pieces: Vec<iovec> = places
            .map(|place| iovec { iov_base: place.as_mut_ptr().cast::<c_void>(), iov_len: place.len() })
            .collect();
        let heads = self.names.iter_mut().map(|name| (name as *mut sockaddr_storage).cast());
        let mut messages: Vec<mmsghdr> = heads
            .zip(&mut pieces)
            .map(|(name, piece)| message(name, size_of::<sockaddr_storage>(), piece))
            .collect();
        for (message, control) in messages.iter_mut().zip(self.controls.iter_mut()) {
            control.lend(&mut message.msg_hdr);
        }
        let (fd, flags) = (c_long::from(socket.as_raw_fd()), c_long::from(libc::MSG_DONTWAIT));
        let none = std::ptr::null_mut::<libc::timespec>();
        // SAFETY: each of the BATCH messages names a place, a name and a control of its own, which outlive the call.
        let count = unsafe {
            libc::syscall(libc::SYS_recvmmsg, fd, messages.as_mut_ptr(), BATCH as c_long, flags, none)
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for (place, message) in messages[..count].iter().enumerate() {
            self.lengths[place] = message.msg_len as usize;
            self.own[place] = self.controls[place].told(message.msg_hdr.msg_controllen);
        }
        self.count = count;
        Ok(count)
    }

    /// What was received. One without a sender's address is left out.
    pub fn iter(&self) -> impl Iterator<Item = Arrived<'_>> {
        let places = self.bytes.chunks_exact(PLACE_BYTES).zip(self.names.iter());
        places.take(self.count).enumerate().filter_map(|(place, (bytes, name))| {
            let bytes = &bytes[..self.lengths[place]];
            Some(Arrived { from: address_of(name)?, to: self.own[place], bytes })
        })
    }
}

/// Sends datagrams, at most [`BATCH`]; returns how many the kernel has taken.
///
/// # Errors
/// Those of sendmmsg(2) for the first of them; EAGAIN if there is no room.
pub fn send<'d>(socket: BorrowedFd<'_>, datagrams: impl Iterator<Item = Outgoing<'d>>) -> io::Result<usize> {
    let (mut names, mut pieces, mut controls) = (Vec::new(), Vec::new(), Vec::new());
    for Outgoing { from, to, bytes } in datagrams.take(BATCH) {
        names.push(name_of(&to));
        controls.push(from.map(Control::from_address));
        // The kernel only reads it.
        pieces.push(iovec { iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(), iov_len: bytes.len() });
    }
    let heads = names.iter_mut().map(|(name, length)| ((name as *mut sockaddr_storage).cast(), *length));
    let mut messages: Vec<mmsghdr> =
        heads.zip(&mut pieces).map(|((name, length), piece)| message(name, length, piece)).collect();
    for (message, control) in messages.iter_mut().zip(&mut controls) {
        if let Some((control, length)) = control {
            control.lend(&mut message.msg_hdr);
            message.msg_hdr.msg_controllen = *length;
        }
    }
    let flags = c_long::from(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
    let (fd, count) = (c_long::from(socket.as_raw_fd()), messages.len() as c_long);
    // SAFETY: each message names bytes, a name and perhaps a control that outlive the call, and are only read.
    let sent = unsafe { libc::syscall(libc::SYS_sendmmsg, fd, messages.as_mut_ptr(), count, flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

fn message(name: *mut c_void, name_bytes: usize, piece: &mut iovec) -> mmsghdr {
    // SAFETY: zeros are a message of nothing.
    let mut message: mmsghdr = unsafe { std::mem::zeroed() };
    message.msg_hdr.msg_name = name;
    message.msg_hdr.msg_namelen = name_bytes as libc::socklen_t;
    message.msg_hdr.msg_iov = piece;
    message.msg_hdr.msg_iovlen = 1;
    message
}

fn address_of(name: &sockaddr_storage) -> Option<SocketAddr> {
    let name: *const sockaddr_storage = name;
    // SAFETY: a sockaddr_storage has room for, and the alignment of, the name of each family; which one it is, is said.
    match i32::from(unsafe { (*name).ss_family }) {
        AF_INET => {
            // SAFETY: as above.
            let name = unsafe { &*name.cast::<sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(name.sin_port)).into())
        }
        AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { &*name.cast::<sockaddr_in6>() };
            let (ip, port) = (Ipv6Addr::from(name.sin6_addr.s6_addr), u16::from_be(name.sin6_port));
            Some(SocketAddrV6::new(ip, port, 0, name.sin6_scope_id).into())
        }
        _ => None,
    }
}

fn name_of(address: &SocketAddr) -> (sockaddr_storage, usize) {
    // SAFETY: zeros are a name of no family.
    let mut storage: sockaddr_storage = unsafe { std::mem::zeroed() };
    let name: *mut sockaddr_storage = &raw mut storage;
    match address {
        SocketAddr::V4(address) => {
            // SAFETY: a sockaddr_storage has room for, and the alignment of, the name of each family.
            let name = unsafe { &mut *name.cast::<sockaddr_in>() };
            name.sin_family = AF_INET as libc::sa_family_t;
            name.sin_port = address.port().to_be();
            name.sin_addr.s_addr = u32::from(*address.ip()).to_be();
            (storage, size_of::<sockaddr_in>())
        }
        SocketAddr::V6(address) => {
            // SAFETY: the same.
            let name = unsafe { &mut *name.cast::<sockaddr_in6>() };
            name.sin6_family = AF_INET6 as libc::sa_family_t;
            name.sin6_port = address.port().to_be();
            name.sin6_addr.s6_addr = address.ip().octets();
            name.sin6_scope_id = address.scope_id();
            (storage, size_of::<sockaddr_in6>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn what_was_sent_is_received_whole_and_from_whom() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let (one, other) = (UdpSocket::bind(any).unwrap(), UdpSocket::bind(any).unwrap());
            let (to, from) = (other.local_addr().unwrap(), one.local_addr().unwrap());
            let mut batch = Batch::default();
            let nothing = batch.receive(other.as_fd()).unwrap_err();
            assert_eq!((nothing.kind(), batch.iter().count()), (io::ErrorKind::WouldBlock, 0));
            let all: Vec<Vec<u8>> = [0, 1, 1500, 65_000].iter().map(|length| vec![7; *length]).collect();
            let sent = send(one.as_fd(), all.iter().map(|bytes| Outgoing { from: None, to, bytes })).unwrap();
            assert_eq!((sent, batch.receive(other.as_fd()).unwrap()), (4, 4));
            let expected = all.iter().map(|bytes| Arrived { from, to: None, bytes });
            assert_eq!(batch.iter().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_batch_has_an_end() {
        let (one, other) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = other.local_addr().unwrap();
        for number in 0..40u8 {
            one.send_to(&[number], to).unwrap();
        }
        let mut batch = Batch::default();
        let mut seen = Vec::new();
        for expected in [BATCH, 40 - BATCH] {
            assert_eq!(batch.receive(other.as_fd()).unwrap(), expected);
            seen.extend(batch.iter().map(|one| one.bytes[0]));
        }
        assert_eq!(seen, (0..40).collect::<Vec<u8>>());
    }

    #[test]
    fn a_socket_at_all_addresses_tells_to_which_one_was_sent_and_answers_from_it() {
        for (all, own) in
            [("0.0.0.0:0", ["127.0.0.1", "127.0.0.2", "127.9.8.7"].as_slice()), ("[::]:0", &["::1"])]
        {
            let socket = UdpSocket::bind(all).unwrap();
            tell_own_addresses(socket.as_fd()).unwrap();
            let port = socket.local_addr().unwrap().port();
            for own in own.iter().map(|own| own.parse::<IpAddr>().unwrap()) {
                let client = UdpSocket::bind((own, 0)).unwrap();
                // Only what comes from there arrives at it.
                client.connect((own, port)).unwrap();
                client.send(b"asked").unwrap();
                let mut batch = Batch::default();
                assert_eq!(batch.receive(socket.as_fd()).unwrap(), 1);
                let from = client.local_addr().unwrap();
                let expected = Arrived { from, to: Some(own), bytes: b"asked" };
                assert_eq!(batch.iter().collect::<Vec<_>>(), [expected]);
                let answer = Outgoing { from: Some(own), to: from, bytes: b"answered" };
                assert_eq!(send(socket.as_fd(), std::iter::once(answer)).unwrap(), 1);
                assert_eq!(client.recv(&mut [0; 10]).unwrap(), 8);
            }
            // 192.0.2.0/24 and 2001:db8::/32 are nobody's: they are for documentation.
            let foreign = if port_is_v4(&socket) { "192.0.2.1" } else { "2001:db8::1" };
            let to = socket.local_addr().unwrap();
            let forged = Outgoing { from: Some(foreign.parse().unwrap()), to, bytes: b"forged" };
            assert!(send(socket.as_fd(), std::iter::once(forged)).is_err());
        }
    }

    fn port_is_v4(socket: &UdpSocket) -> bool {
        socket.local_addr().unwrap().is_ipv4()
    }
}
