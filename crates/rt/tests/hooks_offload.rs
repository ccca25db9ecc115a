//! Hooked calls that run on a thread: name resolution by /etc/hosts and numbers, and fsync.
#![allow(unsafe_code)]

mod common;

use std::cell::Cell;
use std::ffi::CStr;
use std::rc::Rc;

use common::run;
use libc::{c_char, c_int, c_void, hostent};
use weft_rt::Runtime;

unsafe extern "C" {
    fn gethostbyname(name: *const c_char) -> *mut hostent;
    fn gethostbyname_r(
        name: *const c_char,
        host: *mut hostent,
        buffer: *mut c_char,
        length: usize,
        found: *mut *mut hostent,
        reason: *mut c_int,
    ) -> c_int;
    fn gethostbyaddr(address: *const c_void, length: u32, family: c_int) -> *mut hostent;
    fn res_query(name: *const c_char, class: c_int, kind: c_int, answer: *mut u8, room: c_int) -> c_int;
    fn __h_errno_location() -> *mut c_int;
}

/// The IPv4 addresses of a name, or libc's code.
fn resolve(name: &CStr) -> Result<Vec<[u8; 4]>, c_int> {
    let mut list = std::ptr::null_mut();
    // SAFETY: the all-zero hints are valid; the list is read and freed as getaddrinfo(3) says.
    unsafe {
        let mut hints: libc::addrinfo = std::mem::zeroed();
        (hints.ai_family, hints.ai_socktype) = (libc::AF_INET, libc::SOCK_STREAM);
        match libc::getaddrinfo(name.as_ptr(), c"80".as_ptr(), &raw const hints, &raw mut list) {
            0 => (),
            code => return Err(code),
        }
        let (mut entry, mut found) = (list, Vec::new());
        while let Some(info) = entry.as_ref() {
            let address = &*info.ai_addr.cast::<libc::sockaddr_in>();
            assert_eq!(address.sin_port, 80u16.to_be());
            found.push(address.sin_addr.s_addr.to_ne_bytes());
            entry = info.ai_next;
        }
        libc::freeaddrinfo(list);
        Ok(found)
    }
}

#[test]
fn numbers_are_resolved_at_once_and_names_on_a_thread() {
    assert_eq!(resolve(c"localhost"), Ok(vec![[127, 0, 0, 1]]));
    let runtime = run(tasks![|| {
        let runtime = Runtime::get().unwrap();
        assert_eq!(resolve(c"127.1.2.3"), Ok(vec![[127, 1, 2, 3]]));
        assert_eq!(runtime.stats.parks.get(), 0);
        assert_eq!(resolve(c"localhost"), Ok(vec![[127, 0, 0, 1]]));
        assert_eq!(runtime.stats.parks.get(), 1);
        assert!(resolve(c"no such name").is_err());
    }]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn a_cancelled_resolution_ends_at_once_and_leaves_nothing_to_write_to() {
    let id = Rc::new(Cell::new(None));
    let slot = Rc::clone(&id);
    run(tasks![
        move || {
            slot.set(Runtime::get().unwrap().current());
            assert_eq!(resolve(c"localhost"), Err(libc::EAI_SYSTEM));
            assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ECANCELED));
        },
        move || assert!(Runtime::get().unwrap().cancel(id.get().unwrap())),
    ]);
}

#[test]
fn the_old_resolver_calls_answer_as_libc_does() {
    run(tasks![|| {
        // SAFETY: C strings; results are read before the next call of the same kind.
        unsafe {
            let host = &*gethostbyname(c"localhost".as_ptr());
            assert_eq!(CStr::from_ptr(host.h_name), c"localhost");
            assert_eq!((host.h_addrtype, host.h_length), (libc::AF_INET, 4));
            assert_eq!(*(*host.h_addr_list).cast::<[u8; 4]>(), [127, 0, 0, 1]);
            assert!((*host.h_addr_list.add(1)).is_null());
            let address = [127u8, 0, 0, 1];
            let host = &*gethostbyaddr(address.as_ptr().cast(), 4, libc::AF_INET);
            assert_eq!(CStr::from_ptr(host.h_name), c"localhost");
            let mut storage: hostent = std::mem::zeroed();
            let (mut found, mut reason, mut buffer) = (std::ptr::null_mut(), 0, vec![0 as c_char; 1024]);
            let mut ask = |length| {
                let buffer = buffer.as_mut_ptr();
                let (found, reason) = (&raw mut found, &raw mut reason);
                gethostbyname_r(c"localhost".as_ptr(), &raw mut storage, buffer, length, found, reason)
            };
            assert_eq!(ask(8), libc::ERANGE);
            assert_eq!(ask(1024), 0);
            assert_eq!(*(*(*found).h_addr_list).cast::<[u8; 4]>(), [127, 0, 0, 1]);
        }
    }]);
}

#[test]
fn a_query_the_resolver_refuses_fails_as_in_libc() {
    let ask = || {
        let (label, mut answer) = (std::ffi::CString::new("x".repeat(64)).unwrap(), [0u8; 512]);
        // SAFETY: the answer's room is told; a label of 64 bytes is refused before anything is sent.
        let length = unsafe { res_query(label.as_ptr(), 1, 1, answer.as_mut_ptr(), 512) };
        // SAFETY: h_errno's location is always valid.
        (length, unsafe { *__h_errno_location() })
    };
    let plain = ask();
    let runtime = run(tasks![move || assert_eq!(ask(), plain)]);
    assert_eq!((plain.0, runtime.stats.parks.get()), (-1, 1));
}

#[test]
fn an_address_is_named_on_a_thread() {
    let runtime = run(tasks![|| {
        let mut host = [0 as c_char; 64];
        // SAFETY: the address is a valid sockaddr_in; the buffer is live.
        unsafe {
            let mut address: libc::sockaddr_in = std::mem::zeroed();
            address.sin_family = libc::AF_INET as _;
            address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
            let (pointer, length) = ((&raw const address).cast(), size_of_val(&address) as u32);
            let null = std::ptr::null_mut();
            assert_eq!(libc::getnameinfo(pointer, length, host.as_mut_ptr(), 64, null, 0, 0), 0);
            assert_eq!(CStr::from_ptr(host.as_ptr()), c"localhost");
        }
    }]);
    assert_eq!(runtime.stats.parks.get(), 1);
}

#[test]
fn a_file_is_flushed_on_a_thread_and_errors_come_back() {
    let path = std::env::temp_dir().join(format!("weft-fsync-{}", std::process::id()));
    let file = path.clone();
    run(tasks![move || {
        let file = std::fs::File::create(&file).unwrap();
        file.sync_all().unwrap();
        file.sync_data().unwrap();
        // SAFETY: fsync takes a number.
        assert_eq!(unsafe { libc::fsync(-1) }, -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    }]);
    std::fs::remove_file(path).unwrap();
}
