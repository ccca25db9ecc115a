//! Hooked calls that run on a thread: name resolution through /etc/hosts and with numeric addresses, and fsync.
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

/// How often threads made calls of this name.
fn offloaded(name: &str) -> u64 {
    weft_rt::hook::offloaded_calls().find(|&(known, _)| known == name).map_or(0, |(_, count)| count)
}

/// Whether the page cache of this file's disk can be queried (preadv2(2): ext4, XFS, Btrfs and others can).
fn cache_can_be_asked(file: &std::fs::File) -> bool {
    use std::os::fd::AsRawFd;
    let mut byte = 0u8;
    let vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: the vector is live and describes one byte.
    let read = unsafe { libc::preadv2(file.as_raw_fd(), &raw const vector, 1, 0, libc::RWF_NOWAIT) };
    read >= 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}

/// Whether the file lies on a file system without a disk.
fn is_memory(file: &std::fs::File) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: the all-zero statfs is storage, and live.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        libc::fstatfs(file.as_raw_fd(), &raw mut stat) == 0 && stat.f_type == libc::TMPFS_MAGIC
    }
}

/// An empty file in a new directory.
fn file(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("weft-{name}-{}", std::process::id()))
}

#[test]
fn a_large_file_is_copied_by_a_thread_and_a_small_one_directly() {
    use std::os::fd::AsRawFd;
    let (from, to) = (file("from"), file("to"));
    let bytes: Vec<u8> = (0..40_000_000u32).map(|index| (index % 249) as u8).collect();
    std::fs::write(&from, &bytes).unwrap();
    let (source, target) = (from.clone(), to.clone());
    run(tasks![move || {
        let (source, target) =
            (std::fs::File::open(&source).unwrap(), std::fs::File::create(&target).unwrap());
        let copy = |at: i64, length: usize| {
            let mut at = at;
            let (from, to) = (source.as_raw_fd(), target.as_raw_fd());
            let null = std::ptr::null_mut();
            // SAFETY: the offset is live.
            let copied = unsafe { libc::copy_file_range(from, &raw mut at, to, null, length, 0) };
            (copied, at)
        };
        assert_eq!(copy(0, 1000), (1000, 1000));
        assert_eq!(offloaded("copy_file_range"), 0);
        // The kernel copies everything with one call, and so do the pieces.
        assert_eq!(copy(1000, usize::MAX >> 1), (39_999_000, 40_000_000));
        assert_eq!(offloaded("copy_file_range"), 4, "three pieces, and the end of the file");
    }]);
    assert!(std::fs::read(&to).unwrap() == bytes);
    std::fs::remove_file(from).unwrap();
    std::fs::remove_file(to).unwrap();
}

#[test]
fn closing_a_descriptor_that_a_thread_works_on_waits_for_the_thread() {
    use std::os::fd::IntoRawFd;
    let path = file("busy");
    let fd = std::fs::File::create(&path).unwrap().into_raw_fd();
    let done = Rc::new(Cell::new(false));
    let flushed = Rc::clone(&done);
    run(tasks![
        move || {
            let bytes = vec![b'x'; 30_000_000];
            // SAFETY: the bytes are live.
            assert_eq!(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) }, 30_000_000);
            flushed.set(true);
        },
        move || {
            // SAFETY: close takes a number.
            assert_eq!(unsafe { libc::close(fd) }, 0);
        },
    ]);
    assert!(done.get());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 30_000_000);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_file_is_read_directly_from_the_cache_and_on_a_thread_from_the_disk() {
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsRawFd;
    let path = file("disk");
    let bytes: Vec<u8> = (0..3_000_000u32).map(|index| (index % 251) as u8).collect();
    let file = path.clone();
    run(tasks![move || {
        std::fs::File::create(&file).unwrap().write_all(&bytes).unwrap();
        assert!(offloaded("write") >= 1, "a large write is made by a thread");
        let mut opened = std::fs::File::open(&file).unwrap();
        let mut seen = Vec::new();
        opened.read_to_end(&mut seen).unwrap();
        assert_eq!((seen == bytes, offloaded("read")), (true, 0), "it is cached");
        opened.sync_all().unwrap();
        // SAFETY: it takes numbers.
        unsafe { libc::posix_fadvise(opened.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        opened.rewind().unwrap();
        let from_disk = cache_can_be_asked(&opened);
        let mut buffer = vec![0; bytes.len()];
        // One call returns all of it, as a blocking read does.
        assert_eq!(opened.read(&mut buffer).unwrap(), bytes.len());
        assert_eq!((buffer == bytes, opened.stream_position().unwrap()), (true, bytes.len() as u64));
        assert_eq!(opened.read(&mut buffer).unwrap(), 0);
        assert_eq!(offloaded("read") > 0, from_disk && !is_memory(&opened), "the disk was asked by a thread");
    }]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn opening_a_named_pipe_waits_for_its_other_end_and_can_be_cancelled() {
    let path = file("fifo");
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let (reader, writer, abandoned) = (name.clone(), name.clone(), name);
    let id = Rc::new(Cell::new(None));
    let slot = Rc::clone(&id);
    let runtime = run(tasks![
        move || {
            // SAFETY: a C string; the descriptor is this test's.
            unsafe {
                let fd = libc::open(reader.as_ptr(), libc::O_RDONLY);
                let mut byte = 0u8;
                assert_eq!(libc::read(fd, (&raw mut byte).cast(), 1), 1);
                libc::close(fd);
            }
        },
        move || {
            // SAFETY: as above. It does not stay in non-blocking mode.
            unsafe {
                let fd = libc::open(writer.as_ptr(), libc::O_WRONLY);
                assert_eq!(libc::fcntl(fd, libc::F_GETFL) & libc::O_NONBLOCK, 0);
                assert_eq!(libc::write(fd, c"x".as_ptr().cast(), 1), 1);
                libc::close(fd);
            }
        },
    ]);
    assert_eq!(runtime.stats.blocked.get(), 0);
    run(tasks![
        move || {
            slot.set(Runtime::get().unwrap().current());
            // SAFETY: a C string.
            assert_eq!(unsafe { libc::open(abandoned.as_ptr(), libc::O_RDONLY) }, -1);
            assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ECANCELED));
        },
        move || assert!(Runtime::get().unwrap().cancel(id.get().unwrap())),
    ]);
    std::fs::remove_file(path).unwrap();
}
