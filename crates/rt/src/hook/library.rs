//! dlopen: makes loaded extensions bind to the hooks.
#![allow(unsafe_code)]

use libc::{c_char, c_int, c_void};

use super::call::Call;
use super::real::real;

/// PHP loads extensions with `RTLD_DEEPBIND`, so they would bind to libc before this executable and bypass every hook.
///
/// As the caller of libc's dlopen is now this executable, a name without a slash is not searched for in the RUNPATH of
/// the calling library.
pub unsafe fn dlopen(_: Option<Call>, name: *const c_char, flags: c_int) -> *mut c_void {
    let real = real!(c"dlopen": fn(*const c_char, c_int) -> *mut c_void);
    // SAFETY: by the caller's contract.
    unsafe { real(name, flags & !libc::RTLD_DEEPBIND) }
}
