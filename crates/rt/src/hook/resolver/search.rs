//! The resolver's raw queries: res_search, res_query and their re-entrant forms.
//!
//! A resolver state is full of pointers and belongs to its caller, so the thread makes a state of its own from the
//! system's configuration. Options that the caller set in its state do not apply in a coroutine.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};

use libc::{c_char, c_int, c_uchar, c_void};

use crate::hook::call::Call;
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::real::real;
use crate::hook::resolver::host_entry::set_h_errno;

/// Room for glibc's `struct __res_state` (568 bytes on 64-bit), in words for its alignment.
const STATE_WORDS: usize = 128;

/// The longest answer: a DNS message over TCP has a 16-bit length (RFC 1035 section 4.2.2).
const ANSWER_BYTES_MAX: usize = 65_535;

/// Which query: with the search list of resolv.conf, or for the name as it is.
#[derive(Clone, Copy)]
enum Form {
    Search,
    Query,
}

struct Answer {
    length: c_int,
    errno: c_int,
    h_errno: c_int,
    bytes: Vec<u8>,
}

type Ask = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, c_int, *mut c_uchar, c_int) -> c_int;

impl Form {
    fn real(self) -> Ask {
        match self {
            Form::Search => {
                real!(c"res_nsearch": fn(*mut c_void, *const c_char, c_int, c_int, *mut c_uchar, c_int) -> c_int)
            }
            Form::Query => {
                real!(c"res_nquery": fn(*mut c_void, *const c_char, c_int, c_int, *mut c_uchar, c_int) -> c_int)
            }
        }
    }

    /// Asks with its own state, on an offload thread.
    fn ask(self, name: &CStr, class: c_int, kind: c_int, room: usize) -> Answer {
        let mut state = [0u64; STATE_WORDS];
        let state = state.as_mut_ptr().cast::<c_void>();
        let mut bytes = vec![0; room];
        let open = real!(c"__res_ninit": fn(*mut c_void) -> c_int);
        let close = real!(c"__res_nclose": fn(*mut c_void) -> ());
        // SAFETY: zeroed storage that is large enough.
        if unsafe { open(state) } != 0 {
            return Answer { length: -1, errno: errno(), h_errno: super::host_entry::NETDB_INTERNAL, bytes };
        }
        // SAFETY: the state is open; all else is live and of the lengths told.
        let length =
            unsafe { self.real()(state, name.as_ptr(), class, kind, bytes.as_mut_ptr(), room as c_int) };
        let (errno, h_errno) = (errno(), super::host_entry::h_errno());
        // SAFETY: it was opened above and is not used again.
        unsafe { close(state) };
        Answer { length, errno, h_errno, bytes }
    }

    unsafe fn offloaded(
        self,
        call: Call,
        name: *const c_char,
        class: c_int,
        kind: c_int,
        answer: *mut c_uchar,
        room: c_int,
    ) -> c_int {
        let saved = errno();
        // SAFETY: a C string by the caller's contract.
        let name: CString = unsafe { CStr::from_ptr(name) }.to_owned();
        let bytes = (room.max(0) as usize).min(ANSWER_BYTES_MAX);
        let Some(found) = call.offload(move || self.ask(&name, class, kind, bytes)) else {
            set_h_errno(super::host_entry::NETDB_INTERNAL);
            return fail(libc::ECANCELED) as c_int;
        };
        if found.length < 0 {
            set_h_errno(found.h_errno);
            return fail(found.errno) as c_int;
        }
        // The reported length may exceed the room.
        let copied = (found.length as usize).min(found.bytes.len());
        // SAFETY: the caller's buffer has `room` bytes, at least as many.
        unsafe { std::ptr::copy_nonoverlapping(found.bytes.as_ptr(), answer, copied) };
        set_errno(saved);
        found.length
    }
}

macro_rules! forms {
    ($($name:ident, $stateless:ident, $form:expr, $real:literal;)*) => { $(
        pub unsafe fn $name(
            call: Option<Call>,
            state: *mut c_void,
            name: *const c_char,
            class: c_int,
            kind: c_int,
            answer: *mut c_uchar,
            room: c_int,
        ) -> c_int {
            match call.filter(|call| !call.must_block()) {
                // SAFETY: by the caller's contract.
                Some(call) => unsafe { $form.offloaded(call, name, class, kind, answer, room) },
                // SAFETY: by the caller's contract.
                None => unsafe { $form.real()(state, name, class, kind, answer, room) },
            }
        }

        pub unsafe fn $stateless(
            call: Option<Call>,
            name: *const c_char,
            class: c_int,
            kind: c_int,
            answer: *mut c_uchar,
            room: c_int,
        ) -> c_int {
            match call.filter(|call| !call.must_block()) {
                // SAFETY: by the caller's contract.
                Some(call) => unsafe { $form.offloaded(call, name, class, kind, answer, room) },
                None => {
                    let real = real!($real: fn(*const c_char, c_int, c_int, *mut c_uchar, c_int) -> c_int);
                    // SAFETY: by the caller's contract.
                    unsafe { real(name, class, kind, answer, room) }
                }
            }
        }
    )* };
}

forms! {
    res_nsearch, res_search, Form::Search, c"res_search";
    res_nquery, res_query, Form::Query, c"res_query";
}
