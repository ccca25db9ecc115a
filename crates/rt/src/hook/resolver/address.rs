//! getaddrinfo, getnameinfo.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};

use libc::{addrinfo, c_char, c_int, sockaddr, socklen_t};

use crate::hook::call::Call;
use crate::hook::errno::{errno, set_errno};
use crate::hook::real::real;

/// A list from getaddrinfo, freed when dropped.
struct Addresses(*mut addrinfo);

// SAFETY: the list is one block of the heap without ties to a thread.
unsafe impl Send for Addresses {}

impl Drop for Addresses {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: getaddrinfo made it, and no other code has it.
            unsafe { libc::freeaddrinfo(self.0) };
        }
    }
}

/// The arguments of getaddrinfo, owned.
struct Question {
    node: CString,
    service: Option<CString>,
    flags: c_int,
    family: c_int,
    kind: c_int,
    protocol: c_int,
}

impl Question {
    /// Asks libc. `Err` holds its code and errno.
    fn ask(&self) -> Result<Addresses, (c_int, c_int)> {
        // SAFETY: the all-zero addrinfo is valid; hints may hold no more than these four.
        let mut hints: addrinfo = unsafe { std::mem::zeroed() };
        (hints.ai_flags, hints.ai_family) = (self.flags, self.family);
        (hints.ai_socktype, hints.ai_protocol) = (self.kind, self.protocol);
        let service = self.service.as_ref().map_or(std::ptr::null(), |service| service.as_ptr());
        let mut list = std::ptr::null_mut();
        // SAFETY: all pointers are to live values or null.
        let code = unsafe { libc_getaddrinfo(self.node.as_ptr(), service, &raw const hints, &raw mut list) };
        if code == 0 { Ok(Addresses(list)) } else { Err((code, errno())) }
    }
}

unsafe fn libc_getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    list: *mut *mut addrinfo,
) -> c_int {
    type List = *mut *mut addrinfo;
    let real = real!(c"getaddrinfo": fn(*const c_char, *const c_char, *const addrinfo, List) -> c_int);
    // SAFETY: by the caller's contract.
    unsafe { real(node, service, hints, list) }
}

pub unsafe fn getaddrinfo(
    call: Option<Call>,
    node: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    list: *mut *mut addrinfo,
) -> c_int {
    // SAFETY: by the caller's contract.
    let plain = || unsafe { libc_getaddrinfo(node, service, hints, list) };
    let Some(call) = call.filter(|_| !node.is_null()) else { return plain() };
    // SAFETY: null or live by the caller's contract; without hints glibc takes these flags (getaddrinfo(3)).
    let (flags, family, kind, protocol) = match unsafe { hints.as_ref() } {
        Some(hints) => (hints.ai_flags, hints.ai_family, hints.ai_socktype, hints.ai_protocol),
        None => (libc::AI_V4MAPPED | libc::AI_ADDRCONFIG, libc::AF_UNSPEC, 0, 0),
    };
    // SAFETY: C strings or null by the caller's contract.
    let (node, service) = unsafe {
        (CStr::from_ptr(node).to_owned(), (!service.is_null()).then(|| CStr::from_ptr(service).to_owned()))
    };
    let mut question = Question { node, service, flags, family, kind, protocol };
    let saved = errno();
    // A numeric address does not need a thread.
    question.flags |= libc::AI_NUMERICHOST;
    let mut answer = question.ask();
    question.flags = flags;
    if answer.is_err() && flags & libc::AI_NUMERICHOST == 0 {
        if call.must_block() {
            return plain();
        }
        let offloaded = call.offload(move || question.ask());
        answer = offloaded.unwrap_or(Err((libc::EAI_SYSTEM, libc::ECANCELED)));
    }
    match answer {
        Ok(mut addresses) => {
            set_errno(saved);
            // SAFETY: by the caller's contract. The list is the caller's from here.
            unsafe { *list = std::mem::replace(&mut addresses.0, std::ptr::null_mut()) };
            0
        }
        Err((code, error)) => {
            set_errno(error);
            code
        }
    }
}

/// Copies of an address and of the names found for it.
struct Names {
    code: c_int,
    errno: c_int,
    host: Vec<u8>,
    service: Vec<u8>,
}

type GetNameInfo = unsafe extern "C" fn(
    *const sockaddr,
    socklen_t,
    *mut c_char,
    socklen_t,
    *mut c_char,
    socklen_t,
    c_int,
) -> c_int;

fn libc_getnameinfo() -> GetNameInfo {
    real!(c"getnameinfo": fn(*const sockaddr, socklen_t, *mut c_char, socklen_t, *mut c_char, socklen_t, c_int) -> c_int)
}

fn find_names(
    address: &[u64],
    length: socklen_t,
    host: socklen_t,
    service: socklen_t,
    flags: c_int,
) -> Names {
    let (mut host, mut service) = (vec![0; host as usize], vec![0; service as usize]);
    // A name whose buffer is empty is not requested: libc wants a null pointer for it.
    let pointer =
        |name: &mut Vec<u8>| if name.is_empty() { std::ptr::null_mut() } else { name.as_mut_ptr().cast() };
    let (host_pointer, service_pointer) = (pointer(&mut host), pointer(&mut service));
    let (host_length, service_length) = (host.len() as socklen_t, service.len() as socklen_t);
    let address = address.as_ptr().cast();
    // SAFETY: all pointers are to live storage of the lengths told.
    let code = unsafe {
        libc_getnameinfo()(address, length, host_pointer, host_length, service_pointer, service_length, flags)
    };
    Names { code, errno: errno(), host, service }
}

pub unsafe fn getnameinfo(
    call: Option<Call>,
    address: *const sockaddr,
    length: socklen_t,
    host: *mut c_char,
    host_length: socklen_t,
    service: *mut c_char,
    service_length: socklen_t,
    flags: c_int,
) -> c_int {
    let asks_nobody = host.is_null() || host_length == 0 || flags & libc::NI_NUMERICHOST != 0;
    let too_long = length as usize > size_of::<libc::sockaddr_storage>();
    let call = call.filter(|_| !asks_nobody && !too_long && !address.is_null());
    let Some(call) = call.filter(|call| !call.must_block()) else {
        // SAFETY: by the caller's contract.
        return unsafe {
            libc_getnameinfo()(address, length, host, host_length, service, service_length, flags)
        };
    };
    let saved = errno();
    // Words, so that the copy is aligned as a sockaddr.
    let mut copy = vec![0u64; (length as usize).div_ceil(8)];
    // SAFETY: the address has `length` bytes by the caller's contract, and so has the copy.
    unsafe { std::ptr::copy_nonoverlapping(address.cast::<u8>(), copy.as_mut_ptr().cast(), length as usize) };
    let room = if service.is_null() { 0 } else { service_length };
    let found = call.offload(move || find_names(&copy, length, host_length, room, flags));
    let Some(names) = found else {
        set_errno(libc::ECANCELED);
        return libc::EAI_SYSTEM;
    };
    if names.code != 0 {
        set_errno(names.errno);
        return names.code;
    }
    // SAFETY: the copies are as long as the caller's room.
    unsafe {
        std::ptr::copy_nonoverlapping(names.host.as_ptr().cast(), host, names.host.len());
        if room > 0 {
            std::ptr::copy_nonoverlapping(names.service.as_ptr().cast(), service, names.service.len());
        }
    }
    set_errno(saved);
    0
}
