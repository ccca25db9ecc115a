//! libc's own functions, for hooks that are not a single system call. Each is found once with `dlsym(RTLD_NEXT)`; an
//! atomic keeps the address, so a hook costs one load and cannot return to itself.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::c_void;

/// One function of libc.
pub struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Real {
    pub const fn new(name: &'static CStr) -> Real {
        Real { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: the name is a C string. dlsym calls no hooked function.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            // Only an unsupported libc lacks it (glibc before 2.34). No message can be printed safely here.
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// `real!(c"name": fn(A, B) -> C)`: libc's function of that name and type.
macro_rules! real {
    ($name:literal: fn($($argument:ty),* $(,)?) -> $result:ty) => {{
        static REAL: $crate::hook::real::Real = $crate::hook::real::Real::new($name);
        // SAFETY: libc's function of this name has this type (its manual page).
        unsafe {
            std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn($($argument),*) -> $result>(REAL.address())
        }
    }};
}
pub(super) use real;
