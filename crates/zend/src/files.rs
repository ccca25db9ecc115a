//! PHP's questions to the server about files: the rows of the table of C symbols that take a path.
//!
//! As in [`crate::host`]: called from C on the engine's thread; nothing here calls Zend or parks.
#![allow(unsafe_code)]

use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;

use crate::abi::{OPEN_IT_YOURSELF, RUN_SCRIPT};
use crate::host::{Header, Slice, with, with_headers};

// SAFETY of all rows: called by c/ only, with the arguments its prototypes in host.h, source.h and classic.h promise.

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_respond_file(
    request: u64,
    status: u32,
    headers: *const Header,
    count: usize,
    path: Slice,
) -> u32 {
    // SAFETY: as promised in host.h.
    unsafe {
        with_headers(headers, count, |lines| {
            let refused = |status: u16| u32::from(status);
            with(500, |host| {
                host.respond_file(request, status as u16, lines, path.get()).map_or_else(refused, |()| 0)
            })
        })
    }
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_delegations(request: u64) -> u32 {
    with(0, |host| host.delegations(request))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_send_file(
    request: u64,
    status: u32,
    headers: *const Header,
    count: usize,
    path: Slice,
) -> u32 {
    // SAFETY: as promised in classic.h.
    unsafe {
        with_headers(headers, count, |lines| {
            with(500, |host| {
                host.send_file(request, status as u16, lines, path.get()).map_or_else(u32::from, |()| 0)
            })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_redirect(
    request: u64,
    headers: *const Header,
    count: usize,
    uri: Slice,
) -> u32 {
    // SAFETY: as promised in classic.h.
    unsafe {
        with_headers(headers, count, |lines| {
            with(500, |host| match host.redirect(request, lines, uri.get()) {
                Ok(runs) => {
                    if runs {
                        RUN_SCRIPT
                    } else {
                        0
                    }
                }
                Err(status) => u32::from(status),
            })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_open_source(request: u64, path: Slice, real: *mut u8, room: usize) -> i32 {
    // SAFETY: valid during the call.
    let path = unsafe { path.get() };
    let (file, lies) = match with(None, |host| host.open_source(request, path)) {
        None => return OPEN_IT_YOURSELF,
        Some(Err(status)) => return -i32::from(status),
        Some(Ok(opened)) => opened,
    };
    let lies = lies.as_os_str().as_bytes();
    if lies.len() >= room {
        return -404;
    }
    // SAFETY: C passes a buffer of `room` bytes, and there is one for the NUL.
    unsafe {
        real.copy_from_nonoverlapping(lies.as_ptr(), lies.len());
        real.add(lies.len()).write(0);
    }
    file.into_raw_fd()
}
