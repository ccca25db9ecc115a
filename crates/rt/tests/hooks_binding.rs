//! A C library that is loaded as PHP loads its extensions binds to the hooks: shown with SQLite, which PHP itself uses.
#![allow(unsafe_code)]

mod common;

use std::ffi::CStr;

use common::run;
use libc::{c_int, c_void};
use weft_rt::{MILLISECOND, clock, hook};

fn symbol(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: a C string and an open library.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

#[test]
fn every_hook_is_what_a_library_finds_under_its_name() {
    for row in hook::SYMBOLS {
        let name = std::ffi::CString::new(row.name).unwrap();
        assert_eq!(symbol(libc::RTLD_DEFAULT, &name).cast_const().cast(), row.address, "{}", row.name);
    }
}

#[test]
fn a_library_loaded_with_deepbind_sleeps_in_the_scheduler() {
    // SAFETY: a C string; the library's constructors only set it up.
    let sqlite = unsafe { libc::dlopen(c"libsqlite3.so.0".as_ptr(), libc::RTLD_NOW | libc::RTLD_DEEPBIND) };
    assert!(!sqlite.is_null());
    // SAFETY: sqlite3_sleep has this type (sqlite3.h).
    let sleep: unsafe extern "C" fn(c_int) -> c_int =
        unsafe { std::mem::transmute(symbol(sqlite, c"sqlite3_sleep")) };
    let sleeper = move || {
        let start = clock::now();
        // SAFETY: it takes a number.
        assert_eq!(unsafe { sleep(20) }, 20);
        assert!(clock::now() - start >= 20 * MILLISECOND);
    };
    let runtime = run((0..10).map(|_| Box::new(sleeper) as Box<dyn FnOnce()>));
    assert_eq!((runtime.stats.parks.get(), runtime.stats.blocked.get()), (10, 0));
}
