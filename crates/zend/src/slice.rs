//! Bytes that cross the border to C, in either direction.
//!
//! Must not know what they say. Invariant: they are lent, never owned.
#![allow(unsafe_code)]

use std::ffi::c_char;

/// Bytes lent to C, which copies them at once: they must stay valid until the host is called again or the coroutine
/// parks. A null pointer means that there are none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    bytes: *const c_char,
    length: usize,
}

impl Slice {
    /// The value for "there are none".
    pub const NONE: Slice = Slice { bytes: std::ptr::null(), length: 0 };

    /// Lends bytes. The caller guarantees that they stay valid; breaking that before C reads them is not unsafe in
    /// itself.
    pub fn of(bytes: &[u8]) -> Slice {
        Slice { bytes: bytes.as_ptr().cast(), length: bytes.len() }
    }

    /// Whether there are bytes, be it none.
    pub(crate) fn is_some(self) -> bool {
        !self.bytes.is_null()
    }

    /// # Safety
    /// The bytes must be valid for `'a`, or the pointer null.
    pub(crate) unsafe fn get<'a>(self) -> &'a [u8] {
        if self.bytes.is_null() {
            return &[];
        }
        // SAFETY: by contract of this function.
        unsafe { std::slice::from_raw_parts(self.bytes.cast(), self.length) }
    }
}
