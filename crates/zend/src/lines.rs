//! The lines of a request's head and trailer on their way to PHP: which of them reach it, and under which names.
//!
//! Must not know how PHP stores them. Invariant: among the lines that reach PHP, two different names never become the
//! same key of `$_SERVER`, whichever code makes the key, so that no client can overwrite what a proxy has set.
#![allow(unsafe_code)]

use std::cell::RefCell;

use crate::host::{Slice, with};

/// Whether a line of this name reaches PHP: only letters, digits and dashes, as in nginx by default
/// (`ignore_invalid_headers`, `underscores_in_headers`). A token may hold more (RFC 9110 section 5.6.2), but a key of
/// `$_SERVER` has an underscore for a dash, and `php_register_variable_ex` (main/php_variables.c) also replaces a dot
/// with one; frameworks that convert a key back make a dash of it. `Proxy` would become `HTTP_PROXY`, which programs
/// take for their operator's setting (CVE-2016-5385).
fn reaches_php(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        && !name.eq_ignore_ascii_case(b"proxy")
}

/// The first line from `at` on that reaches PHP; `at` is then after it.
fn next(
    at: &mut u32,
    line_at: impl Fn(u32) -> Option<(Slice, Slice)>,
    mut take: impl FnMut(&[u8]),
) -> Option<(Slice, Slice)> {
    loop {
        let line = line_at(*at)?;
        *at += 1;
        // SAFETY: a host lends its lines until it is called again, which is not before the name was looked at.
        let name = unsafe { line.0.get() };
        if reaches_php(name) {
            take(name);
            return Some(line);
        }
    }
}

/// Writes a line through the two out pointers.
///
/// # Safety
/// Both point to writable slices.
unsafe fn put(line: Option<(Slice, Slice)>, name: *mut Slice, value: *mut Slice) -> bool {
    let Some(line) = line else { return false };
    // SAFETY: by contract.
    unsafe { (*name, *value) = line };
    true
}

// SAFETY of all rows: called by c/ only, with the addresses of three of its own variables.

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_next_header(
    request: u64,
    at: *mut u32,
    name: *mut Slice,
    value: *mut Slice,
) -> bool {
    // SAFETY: as above.
    let at = unsafe { &mut *at };
    let line = next(at, |index| with(None, |host| host.header_at(request, index)), |_| ());
    // SAFETY: as above.
    unsafe { put(line, name, value) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_next_trailer(
    request: u64,
    at: *mut u32,
    name: *mut Slice,
    value: *mut Slice,
) -> bool {
    // SAFETY: as above.
    let at = unsafe { &mut *at };
    let line = next(at, |index| with(None, |host| host.trailer_at(request, index)), |_| ());
    // SAFETY: as above.
    unsafe { put(line, name, value) }
}

thread_local! {
    /// The name of the variable that was returned last.
    static VARIABLE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The bit of a position that says that all header lines have been taken.
const BEHIND_HEADERS: u32 = 1 << 31;

/// The next header line with its name in `$_SERVER` (RFC 3875 section 4.1.18), which ends with a NUL after its length;
/// after them, the connection's own variables.
#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_next_variable(
    request: u64,
    at: *mut u32,
    name: *mut Slice,
    value: *mut Slice,
) -> bool {
    // SAFETY: as above.
    let at = unsafe { &mut *at };
    VARIABLE.with_borrow_mut(|variable| {
        if *at & BEHIND_HEADERS != 0 {
            let own = with(None, |host| host.variable_at(request, *at & !BEHIND_HEADERS));
            *at += 1;
            // SAFETY: as above.
            return unsafe { put(own, name, value) };
        }
        let header = |index| with(None, |host| host.header_at(request, index));
        let line = next(at, header, |name| write_variable(name, variable));
        let mut named = line.map(|(_, value)| (Slice::of(&variable[..variable.len() - 1]), value));
        if named.is_none() {
            *at = BEHIND_HEADERS + 1;
            named = with(None, |host| host.variable_at(request, 0));
        }
        // SAFETY: as above.
        unsafe { put(named, name, value) }
    })
}

/// `X-Real-IP` as `HTTP_X_REAL_IP` and a NUL.
fn write_variable(name: &[u8], variable: &mut Vec<u8>) {
    variable.clear();
    variable.extend_from_slice(b"HTTP_");
    variable.extend(name.iter().map(|byte| if *byte == b'-' { b'_' } else { byte.to_ascii_uppercase() }));
    variable.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variable's name after main/php_variables.c has converted it, and a framework has converted it back.
    fn mangled(name: &[u8]) -> Vec<u8> {
        let byte = |byte: &u8| if b"-. [".contains(byte) { b'_' } else { byte.to_ascii_uppercase() };
        name.iter().map(byte).collect()
    }

    #[test]
    fn names_that_reach_php_cannot_collide() {
        for byte in (0..=255u8).filter(|byte| *byte != b'-') {
            let name = [b"X", &[byte][..], b"Real", &[byte], b"IP"].concat();
            assert!(!reaches_php(&name) || mangled(&name) != b"X_REAL_IP", "{:?}", char::from(byte));
        }
        for name in ["Proxy", "pROXY", "X_Y", "X.Y", "X Y", "X[Y", "X~", "X\0"] {
            assert!(!reaches_php(name.as_bytes()), "{name}");
        }
        for name in ["Host", "X-Real-IP", "proxy-connection", "x-proxy", "-", "1"] {
            assert!(reaches_php(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn variables_are_named_as_by_cgi() {
        let mut variable = Vec::new();
        write_variable(b"x-Real-iP", &mut variable);
        assert_eq!(variable, b"HTTP_X_REAL_IP\0");
    }
}
