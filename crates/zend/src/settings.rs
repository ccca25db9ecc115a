//! PHP's questions to the server about a request's site: the rows of the table of C symbols for its settings.
//!
//! As in [`crate::host`]: called from C on the engine's thread; nothing here calls Zend or parks.
#![allow(unsafe_code)]

use crate::abi::NO_SITE;
use crate::host::{Slice, with};

// SAFETY of all rows: called by c/ only, with the addresses of variables of its own, as site.h promises.

#[unsafe(no_mangle)]
extern "C" fn weft_host_site(request: u64) -> u32 {
    with(NO_SITE, |host| host.site(request))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_next_setting(
    site: u32,
    at: *mut u32,
    kind: *mut u32,
    name: *mut Slice,
    value: *mut Slice,
) -> bool {
    // SAFETY: as above.
    let at = unsafe { &mut *at };
    let Some((what, own, text)) = with(None, |host| host.setting_at(site, *at)) else { return false };
    *at += 1;
    // SAFETY: as above, and `kind` is a fourth variable of C's.
    unsafe { (*kind, *name, *value) = (what as u32, own, text) };
    true
}
