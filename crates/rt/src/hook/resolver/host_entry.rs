//! gethostbyname, gethostbyname2, gethostbyaddr and their re-entrant forms.
//!
//! The old forms have one static result per coroutine slot, so that a coroutine that parks while it reads its result
//! does not find another's. It is valid until the next call of the same coroutine, as gethostbyname(3) says.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};

use libc::{c_char, c_int, c_void, hostent, size_t, socklen_t};

use crate::hook::call::Call;
use crate::hook::errno::{errno, set_errno};
use crate::hook::real::real;

/// h_errno for an error that errno describes (netdb.h).
pub const NETDB_INTERNAL: c_int = -1;

/// Largest buffer given to libc for one answer.
const ANSWER_BYTES_MAX: usize = 1 << 18;

unsafe extern "C" {
    fn __h_errno_location() -> *mut c_int;
}

/// h_errno of this thread.
pub fn h_errno() -> c_int {
    // SAFETY: the location is valid for the life of the thread.
    unsafe { *__h_errno_location() }
}

/// Sets h_errno of this thread.
pub fn set_h_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *__h_errno_location() = value };
}

/// A hostent that owns its contents.
pub struct HostEntry {
    name: CString,
    aliases: Vec<CString>,
    family: c_int,
    address_bytes: usize,
    addresses: Vec<Vec<u8>>,
}

/// Why there is none.
#[derive(Clone, Copy)]
pub struct Failure {
    pub errno: c_int,
    pub h_errno: c_int,
}

const CANCELLED: Failure = Failure { errno: libc::ECANCELED, h_errno: NETDB_INTERNAL };

/// The question, owned.
pub enum Question {
    Name(CString, c_int),
    Address(Vec<u8>, c_int),
}

type Found = *mut *mut hostent;

impl Question {
    /// Asks libc, with a larger buffer until the answer fits.
    fn ask(&self) -> Result<HostEntry, Failure> {
        let mut buffer = vec![0u64; 256];
        loop {
            // SAFETY: the all-zero hostent is storage for the answer.
            let mut host: hostent = unsafe { std::mem::zeroed() };
            let (mut found, mut reason) = (std::ptr::null_mut(), 0);
            // SAFETY: all pointers are to live storage of the lengths told.
            let code = unsafe { self.ask_libc(&raw mut host, &mut buffer, &raw mut found, &raw mut reason) };
            if code == libc::ERANGE && size_of_val(&*buffer) < ANSWER_BYTES_MAX {
                buffer.resize(buffer.len() * 4, 0);
                continue;
            }
            // SAFETY: null, or `host`, which libc filled in.
            return match unsafe { found.as_ref() } {
                // SAFETY: its pointers lead into the buffer, which is live.
                Some(host) => Ok(unsafe { HostEntry::copied(host) }),
                None => Err(Failure { errno: if code == 0 { errno() } else { code }, h_errno: reason }),
            };
        }
    }

    unsafe fn ask_libc(
        &self,
        host: *mut hostent,
        buffer: &mut [u64],
        found: Found,
        reason: *mut c_int,
    ) -> c_int {
        let (room, length) = (buffer.as_mut_ptr().cast::<c_char>(), size_of_val(buffer));
        match self {
            Question::Name(name, family) => {
                let real = real!(c"gethostbyname2_r": fn(*const c_char, c_int, *mut hostent, *mut c_char, size_t, Found, *mut c_int) -> c_int);
                // SAFETY: by the caller's contract.
                unsafe { real(name.as_ptr(), *family, host, room, length, found, reason) }
            }
            Question::Address(address, family) => {
                let real = real!(c"gethostbyaddr_r": fn(*const c_void, socklen_t, c_int, *mut hostent, *mut c_char, size_t, Found, *mut c_int) -> c_int);
                let bytes = address.len() as socklen_t;
                // SAFETY: by the caller's contract.
                unsafe { real(address.as_ptr().cast(), bytes, *family, host, room, length, found, reason) }
            }
        }
    }

    /// Asks on an offload thread.
    pub fn offloaded(self, call: Call) -> Result<HostEntry, Failure> {
        call.offload(move || self.ask()).unwrap_or(Err(CANCELLED))
    }
}

impl HostEntry {
    /// # Safety
    /// `host` must be one of libc's: strings and null-terminated lists.
    unsafe fn copied(host: &hostent) -> HostEntry {
        let bytes = host.h_length.max(0) as usize;
        // SAFETY: by contract.
        unsafe {
            HostEntry {
                name: CStr::from_ptr(host.h_name).to_owned(),
                aliases: list(host.h_aliases, |alias| CStr::from_ptr(alias).to_owned()),
                family: host.h_addrtype,
                address_bytes: bytes,
                addresses: list(host.h_addr_list, |address| {
                    std::slice::from_raw_parts(address.cast::<u8>(), bytes).to_vec()
                }),
            }
        }
    }

    /// Bytes that [`HostEntry::write`] needs, with alignment.
    pub fn bytes(&self) -> usize {
        let pointers = (self.aliases.len() + self.addresses.len() + 2) * size_of::<*mut c_char>();
        let strings: usize = self.aliases.iter().chain([&self.name]).map(|text| text.count_bytes() + 1).sum();
        size_of::<*mut c_char>() + pointers + self.addresses.len() * self.address_bytes + strings
    }

    /// Writes it out for C: the lists first, then the addresses, then the strings.
    ///
    /// # Safety
    /// `host` must be writable, `buffer` have [`HostEntry::bytes`] writable bytes.
    pub unsafe fn write(&self, host: *mut hostent, buffer: *mut c_char) {
        let start = buffer.wrapping_add(buffer.align_offset(align_of::<*mut c_char>()));
        let aliases = start.cast::<*mut c_char>();
        // SAFETY: all that follows stays within the bytes counted above.
        unsafe {
            let addresses = aliases.add(self.aliases.len() + 1);
            let mut end = addresses.add(self.addresses.len() + 1).cast::<c_char>();
            let mut put = |bytes: &[u8]| {
                let place = end;
                std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), place, bytes.len());
                end = end.add(bytes.len());
                place
            };
            for (index, address) in self.addresses.iter().enumerate() {
                *addresses.add(index) = put(address);
            }
            *addresses.add(self.addresses.len()) = std::ptr::null_mut();
            for (index, alias) in self.aliases.iter().enumerate() {
                *aliases.add(index) = put(alias.as_bytes_with_nul());
            }
            *aliases.add(self.aliases.len()) = std::ptr::null_mut();
            (*host).h_name = put(self.name.as_bytes_with_nul());
            ((*host).h_aliases, (*host).h_addr_list) = (aliases, addresses);
            ((*host).h_addrtype, (*host).h_length) = (self.family, self.address_bytes as c_int);
        }
    }
}

unsafe fn list<T>(mut entries: *mut *mut c_char, copy: impl Fn(*mut c_char) -> T) -> Vec<T> {
    let mut copies = Vec::new();
    // SAFETY: a null-terminated list by the caller's contract; glibc gives null for an empty one.
    while !entries.is_null() && unsafe { !(*entries).is_null() } {
        // SAFETY: as above.
        copies.push(copy(unsafe { *entries }));
        // SAFETY: as above.
        entries = unsafe { entries.add(1) };
    }
    copies
}

/// A hostent at a fixed address, and the storage its pointers lead to.
type Stored = (Box<hostent>, Vec<u64>);

thread_local! {
    /// Results of the old forms by coroutine slot: at most as many as there are slots.
    static RESULTS: RefCell<HashMap<u32, Stored>> = RefCell::default();
}

/// Returns a result in the coroutine's static storage; null and h_errno for a failure.
pub fn in_static(call: Call, answer: Result<HostEntry, Failure>, saved: c_int) -> *mut hostent {
    let host = match answer {
        Ok(host) => host,
        Err(failure) => {
            set_h_errno(failure.h_errno);
            set_errno(failure.errno);
            return std::ptr::null_mut();
        }
    };
    let slot = call.runtime.current().map_or(0, |id| id.index);
    let result = RESULTS.with_borrow_mut(|results| {
        // SAFETY: the all-zero hostent is storage.
        let empty = || (Box::new(unsafe { std::mem::zeroed::<hostent>() }), Vec::new());
        let (result, buffer) = results.entry(slot).or_insert_with(empty);
        buffer.clear();
        buffer.resize(host.bytes().div_ceil(8), 0);
        // SAFETY: the buffer has the bytes asked for; the box keeps its address.
        unsafe { host.write(&raw mut **result, buffer.as_mut_ptr().cast()) };
        &raw mut **result
    });
    set_errno(saved);
    result
}
