//! Which of the machine's addresses a datagram was sent to, and which one an answer leaves from: ip(7) IP_PKTINFO, ipv6(7)
//! IPV6_PKTINFO.
//!
//! Must not know sockets of other kinds. Invariant: a control that is lent to the kernel has its whole size, and of one that
//! was received nothing is read beyond what the kernel says that it has written.
#![allow(unsafe_code)]

use std::io;
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{
    IP_PKTINFO, IPPROTO_IP, IPPROTO_IPV6, IPV6_PKTINFO, IPV6_RECVPKTINFO, c_int, c_void, cmsghdr, in_pktinfo,
    in6_pktinfo, msghdr, socklen_t,
};

/// Where the data of a control message begins: CMSG_LEN(0).
const HEAD: usize = size_of::<cmsghdr>();
/// The longer of the two, as CMSG_SPACE has it.
const SPACE: usize = HEAD + size_of::<in6_pktinfo>().next_multiple_of(size_of::<usize>());

/// Has a socket that is bound to all addresses tell to which one each datagram was sent. One that is bound to a single address
/// needs none of it.
///
/// # Errors
/// Those of getsockname(2) and setsockopt(2).
pub fn tell_own_addresses(socket: BorrowedFd<'_>) -> io::Result<()> {
    let bound: SocketAddr = rustix::net::getsockname(socket)?.try_into()?;
    if !bound.ip().is_unspecified() {
        return Ok(());
    }
    let (level, option) =
        if bound.is_ipv4() { (IPPROTO_IP, IP_PKTINFO) } else { (IPPROTO_IPV6, IPV6_RECVPKTINFO) };
    let yes: c_int = 1;
    let value = (&raw const yes).cast::<c_void>();
    // SAFETY: the kernel reads a number of this size.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, value, size_of::<c_int>() as socklen_t)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Room for one control message of a datagram.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(super) struct Control([u8; SPACE]);

impl Default for Control {
    fn default() -> Control {
        Control([0; SPACE])
    }
}

impl Control {
    /// One that has a datagram leave from this address, and its length.
    pub(super) fn from_address(own: IpAddr) -> (Control, usize) {
        let mut control = Control::default();
        // The other fields stay zero: the way is found by the address of the peer.
        let (level, kind, at, address, whole) = match own {
            IpAddr::V4(own) => {
                let at = offset_of!(in_pktinfo, ipi_spec_dst);
                (IPPROTO_IP, IP_PKTINFO, at, &own.octets()[..], size_of::<in_pktinfo>())
            }
            IpAddr::V6(own) => {
                let at = offset_of!(in6_pktinfo, ipi6_addr);
                (IPPROTO_IPV6, IPV6_PKTINFO, at, &own.octets()[..], size_of::<in6_pktinfo>())
            }
        };
        let length = HEAD + whole;
        control.put(offset_of!(cmsghdr, cmsg_len), &length.to_ne_bytes());
        control.put(offset_of!(cmsghdr, cmsg_level), &level.to_ne_bytes());
        control.put(offset_of!(cmsghdr, cmsg_type), &kind.to_ne_bytes());
        control.put(HEAD + at, address);
        (control, length)
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Lends the whole room to a message.
    pub(super) fn lend(&mut self, message: &mut msghdr) {
        message.msg_control = self.0.as_mut_ptr().cast::<c_void>();
        message.msg_controllen = SPACE as _;
    }

    /// The address that the kernel has told in so many bytes. That of a group is none to answer from.
    pub(super) fn told(&self, bytes: usize) -> Option<IpAddr> {
        let told = self.0.get(..bytes)?;
        let number = |at: usize| Some(c_int::from_ne_bytes(told.get(at..at + 4)?.try_into().ok()?));
        let kind = (number(offset_of!(cmsghdr, cmsg_level))?, number(offset_of!(cmsghdr, cmsg_type))?);
        let own = match kind {
            (IPPROTO_IP, IP_PKTINFO) => {
                // Not the address in its header, which may be that of a group or of a network.
                let at = HEAD + offset_of!(in_pktinfo, ipi_spec_dst);
                let octets: [u8; 4] = told.get(at..at + 4)?.try_into().ok()?;
                IpAddr::V4(Ipv4Addr::from(octets))
            }
            (IPPROTO_IPV6, IPV6_PKTINFO) => {
                let at = HEAD + offset_of!(in6_pktinfo, ipi6_addr);
                let octets: [u8; 16] = told.get(at..at + 16)?.try_into().ok()?;
                IpAddr::V6(Ipv6Addr::from(octets))
            }
            _ => return None,
        };
        (!own.is_multicast() && !own.is_unspecified()).then_some(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read_as_what_is_received() {
        for own in ["127.0.0.2", "192.0.2.255", "::1", "2001:db8::7"] {
            let own: IpAddr = own.parse().unwrap();
            let (control, length) = Control::from_address(own);
            assert_eq!(control.told(length), Some(own));
            for short in 0..length - 8 {
                assert_eq!(control.told(short), None, "{own}: {short}");
            }
        }
        for group in ["224.0.0.1", "ff02::1", "0.0.0.0", "::"] {
            let (control, length) = Control::from_address(group.parse().unwrap());
            assert_eq!(control.told(length), None);
        }
        assert_eq!(Control::default().told(SPACE), None);
    }
}
