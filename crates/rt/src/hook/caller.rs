//! Which library calls a hook.
//!
//! For the rare hook whose answer depends on it: some microseconds. It must not know what the answer is used for.
//! Invariant: it only reads the stack, by the tables that every object on it has for unwinding.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

use libc::c_int;

/// Frames of this executable between a hook's entry and the question.
const OWN_FRAMES_MAX: usize = 32;

/// `_URC_NO_REASON` and `_URC_END_OF_STACK` of the Itanium C++ ABI's unwinder.
const GO_ON: c_int = 0;
const STOP: c_int = 5;

type Frame = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

// Part of libgcc, to which Rust's std is linked.
unsafe extern "C" {
    fn _Unwind_Backtrace(frame: Frame, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

struct Search {
    own: usize,
    frames: usize,
    caller: usize,
}

fn object(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: the all-zero value is valid storage, and dladdr takes any address.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(address as *const c_void, &raw mut info) != 0).then_some(info)
    }
}

unsafe extern "C" fn frame(context: *mut c_void, argument: *mut c_void) -> c_int {
    // SAFETY: the argument of `is_library`, which lives; the unwinder's own context.
    let (search, address) = unsafe { (&mut *argument.cast::<Search>(), _Unwind_GetIP(context)) };
    search.frames += 1;
    let base = object(address).map_or(0, |object| object.dli_fbase.addr());
    if base != search.own {
        search.caller = address;
    }
    if search.caller != 0 || search.frames > OWN_FRAMES_MAX { STOP } else { GO_ON }
}

/// Whether the running hook was called by a library whose file name begins so.
#[cold]
pub fn is_library(name: &CStr) -> bool {
    let own = object(frame as *const () as usize).map_or(0, |object| object.dli_fbase.addr());
    let mut search = Search { own, frames: 0, caller: 0 };
    // SAFETY: the callback keeps to the unwinder's contract, and its argument outlives the call.
    unsafe { _Unwind_Backtrace(frame, (&raw mut search).cast()) };
    let Some(object) = Some(search.caller).filter(|&caller| caller != 0).and_then(object) else {
        return false;
    };
    if object.dli_fname.is_null() {
        return false;
    }
    // SAFETY: the loader's own text, which lives as long as the object.
    let path = unsafe { CStr::from_ptr(object.dli_fname) }.to_bytes();
    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    file.starts_with(name.to_bytes())
}
