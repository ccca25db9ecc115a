//! The calls around [`host_entry`](super::host_entry): outside a coroutine each is libc's own function, inside one a
//! thread answers it.
#![allow(unsafe_code)]

use std::ffi::CStr;

use libc::{c_char, c_int, c_void, hostent, size_t, socklen_t};

use crate::hook::call::Call;
use crate::hook::errno::{errno, set_errno};
use crate::hook::real::real;
use crate::hook::resolver::host_entry::{Failure, HostEntry, Question, in_static};

type Found = *mut *mut hostent;

unsafe fn by_name(name: *const c_char, family: c_int) -> Question {
    // SAFETY: a C string by the caller's contract.
    Question::Name(unsafe { CStr::from_ptr(name) }.to_owned(), family)
}

unsafe fn by_address(address: *const c_void, length: socklen_t, family: c_int) -> Question {
    // SAFETY: `length` bytes by the caller's contract.
    Question::Address(
        unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length as usize) }.to_vec(),
        family,
    )
}

/// Returns a result in the caller's storage, with the return value of the re-entrant forms.
unsafe fn in_room(
    answer: Result<HostEntry, Failure>,
    saved: c_int,
    (host, buffer, length): (*mut hostent, *mut c_char, size_t),
    (found, reason): (Found, *mut c_int),
) -> c_int {
    let failure = match answer {
        Ok(answer) if answer.bytes() <= length => {
            // SAFETY: there is room; the pointers are live by the caller's contract.
            unsafe {
                answer.write(host, buffer);
                *found = host;
            }
            set_errno(saved);
            return 0;
        }
        Ok(_) => Failure { errno: libc::ERANGE, h_errno: super::host_entry::NETDB_INTERNAL },
        Err(failure) => failure,
    };
    // SAFETY: live by the caller's contract.
    unsafe {
        *found = std::ptr::null_mut();
        *reason = failure.h_errno;
    }
    set_errno(failure.errno);
    // An unknown name is not a failure of the call (gethostbyname_r(3)).
    if failure.h_errno == super::host_entry::NETDB_INTERNAL { failure.errno } else { 0 }
}

pub unsafe fn gethostbyname(call: Option<Call>, name: *const c_char) -> *mut hostent {
    let Some(call) = call.filter(|call| !call.must_block()) else {
        let real = real!(c"gethostbyname": fn(*const c_char) -> *mut hostent);
        // SAFETY: by the caller's contract.
        return unsafe { real(name) };
    };
    let saved = errno();
    // SAFETY: by the caller's contract.
    in_static(call, unsafe { by_name(name, libc::AF_INET) }.offloaded(call), saved)
}

pub unsafe fn gethostbyname2(call: Option<Call>, name: *const c_char, family: c_int) -> *mut hostent {
    let Some(call) = call.filter(|call| !call.must_block()) else {
        let real = real!(c"gethostbyname2": fn(*const c_char, c_int) -> *mut hostent);
        // SAFETY: by the caller's contract.
        return unsafe { real(name, family) };
    };
    let saved = errno();
    // SAFETY: by the caller's contract.
    in_static(call, unsafe { by_name(name, family) }.offloaded(call), saved)
}

pub unsafe fn gethostbyaddr(
    call: Option<Call>,
    address: *const c_void,
    length: socklen_t,
    family: c_int,
) -> *mut hostent {
    let Some(call) = call.filter(|call| !call.must_block()) else {
        let real = real!(c"gethostbyaddr": fn(*const c_void, socklen_t, c_int) -> *mut hostent);
        // SAFETY: by the caller's contract.
        return unsafe { real(address, length, family) };
    };
    let saved = errno();
    // SAFETY: by the caller's contract.
    in_static(call, unsafe { by_address(address, length, family) }.offloaded(call), saved)
}

pub unsafe fn gethostbyname_r(
    call: Option<Call>,
    name: *const c_char,
    host: *mut hostent,
    buffer: *mut c_char,
    length: size_t,
    found: Found,
    reason: *mut c_int,
) -> c_int {
    // SAFETY: by the caller's contract; this form is the other one for IPv4.
    unsafe { gethostbyname2_r(call, name, libc::AF_INET, host, buffer, length, found, reason) }
}

pub unsafe fn gethostbyname2_r(
    call: Option<Call>,
    name: *const c_char,
    family: c_int,
    host: *mut hostent,
    buffer: *mut c_char,
    length: size_t,
    found: Found,
    reason: *mut c_int,
) -> c_int {
    let Some(call) = call.filter(|call| !call.must_block()) else {
        let real = real!(c"gethostbyname2_r": fn(*const c_char, c_int, *mut hostent, *mut c_char, size_t, Found, *mut c_int) -> c_int);
        // SAFETY: by the caller's contract.
        return unsafe { real(name, family, host, buffer, length, found, reason) };
    };
    let saved = errno();
    // SAFETY: by the caller's contract.
    unsafe {
        let answer = by_name(name, family).offloaded(call);
        in_room(answer, saved, (host, buffer, length), (found, reason))
    }
}

pub unsafe fn gethostbyaddr_r(
    call: Option<Call>,
    address: *const c_void,
    address_length: socklen_t,
    family: c_int,
    host: *mut hostent,
    buffer: *mut c_char,
    length: size_t,
    found: Found,
    reason: *mut c_int,
) -> c_int {
    let Some(call) = call.filter(|call| !call.must_block()) else {
        let real = real!(c"gethostbyaddr_r": fn(*const c_void, socklen_t, c_int, *mut hostent, *mut c_char, size_t, Found, *mut c_int) -> c_int);
        // SAFETY: by the caller's contract.
        return unsafe { real(address, address_length, family, host, buffer, length, found, reason) };
    };
    let saved = errno();
    // SAFETY: by the caller's contract.
    unsafe {
        let answer = by_address(address, address_length, family).offloaded(call);
        in_room(answer, saved, (host, buffer, length), (found, reason))
    }
}
