//! Hooked calls that receive and send: called by their libc names from coroutines.
#![allow(unsafe_code)]

mod common;
#[path = "common/fd.rs"]
mod fd;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use common::run;
use fd::{close, errno, pipe, read, recv, send, set_timeout, socket_pair, write};
use weft_rt::{MILLISECOND, clock, hook};

#[test]
fn the_libc_names_of_this_executable_are_the_hooks() {
    let bound: [(&str, *const ()); 6] = [
        ("recv", libc::recv as *const ()),
        ("send", libc::send as *const ()),
        ("poll", libc::poll as *const ()),
        ("read", libc::read as *const ()),
        ("nanosleep", libc::nanosleep as *const ()),
        ("close", libc::close as *const ()),
    ];
    for (name, address) in bound {
        let row = hook::SYMBOLS.iter().find(|row| row.name == name).unwrap();
        assert_eq!(row.address, address, "{name}");
    }
}

#[test]
fn two_coroutines_play_ping_pong_over_a_blocking_socket_pair() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    let play = |fd, serves: bool| {
        move || {
            let mut ball = [0; 4];
            for round in 0..1_000u32 {
                if serves {
                    assert_eq!(send(fd, &round.to_ne_bytes()), 4);
                }
                assert_eq!(recv(fd, &mut ball, 0), 4);
                assert_eq!(u32::from_ne_bytes(ball), round);
                if !serves {
                    assert_eq!(send(fd, &ball), 4);
                }
            }
        }
    };
    let runtime = run(tasks![play(left, true), play(right, false)]);
    assert!(runtime.stats.parks.get() >= 1_000);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn errno_is_kept_by_a_call_that_waited_and_succeeded() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    run(tasks![
        move || {
            // SAFETY: errno's location is always valid.
            unsafe { *libc::__errno_location() = libc::EXDEV };
            assert_eq!(recv(left, &mut [0; 4], 0), 1);
            assert_eq!(errno(), libc::EXDEV);
        },
        move || {
            assert_eq!(recv(right, &mut [0; 4], libc::MSG_DONTWAIT), -1);
            assert_eq!(errno(), libc::EAGAIN);
            assert_eq!(send(right, b"x"), 1);
        },
    ]);
}

#[test]
fn a_receive_timeout_ends_the_wait_with_eagain_and_not_before() {
    let [left, _right] = socket_pair(libc::SOCK_STREAM);
    set_timeout(left, libc::SO_RCVTIMEO, 20);
    run(tasks![move || {
        let start = clock::now();
        assert_eq!(recv(left, &mut [0; 4], 0), -1);
        assert_eq!(errno(), libc::EAGAIN);
        assert!(clock::now() - start >= 20 * MILLISECOND);
    }]);
}

#[test]
fn a_non_blocking_descriptor_does_not_wait() {
    let [left, _right] = socket_pair(libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
    let runtime = run(tasks![move || {
        assert_eq!(recv(left, &mut [0; 4], 0), -1);
        assert_eq!(errno(), libc::EAGAIN);
        assert_eq!(read(left, &mut [0; 4]), -1);
        assert_eq!(errno(), libc::EAGAIN);
    }]);
    assert_eq!(runtime.stats.parks.get(), 0);
}

#[test]
fn waitall_collects_every_byte_and_stops_at_the_end_of_file() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    run(tasks![
        move || {
            let mut buffer = [0; 8];
            assert_eq!(recv(left, &mut buffer, libc::MSG_WAITALL | libc::MSG_PEEK), 8);
            assert_eq!(recv(left, &mut buffer, libc::MSG_WAITALL), 8);
            assert_eq!(&buffer, b"abcdefgh");
            assert_eq!(recv(left, &mut buffer, libc::MSG_WAITALL), 2);
            assert_eq!(recv(left, &mut buffer, libc::MSG_WAITALL), 0);
        },
        move || {
            for part in [&b"abc"[..], b"def", b"gh", b"ij"] {
                assert_eq!(send(right, part), part.len() as isize);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            close(right);
        },
    ]);
}

#[test]
fn a_large_write_goes_whole_through_a_small_pipe() {
    let [reader, writer] = pipe();
    // SAFETY: F_SETPIPE_SZ takes a number.
    assert!(unsafe { libc::fcntl(writer, libc::F_SETPIPE_SZ, 4096) } > 0);
    let sent: Vec<u8> = (0..1_000_000u32).map(|byte| byte as u8).collect();
    let (got, expected) = (Rc::new(RefCell::new(Vec::new())), sent.clone());
    let sink = Rc::clone(&got);
    let runtime = run(tasks![
        move || {
            assert_eq!(write(writer, &sent), sent.len() as isize);
            close(writer);
        },
        move || {
            let mut part = [0; 777];
            loop {
                let count = read(reader, &mut part);
                assert!(count >= 0);
                if count == 0 {
                    break;
                }
                sink.borrow_mut().extend_from_slice(&part[..count as usize]);
            }
            close(reader);
        },
    ]);
    assert!(*got.borrow() == expected);
    assert!(runtime.stats.parks.get() > 0);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn a_large_send_goes_whole_through_a_socket_and_a_send_timeout_reports_the_part() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    let [full, _unread] = socket_pair(libc::SOCK_STREAM);
    set_timeout(full, libc::SO_SNDTIMEO, 5);
    let total = Rc::new(Cell::new(0));
    let count = Rc::clone(&total);
    run(tasks![
        move || {
            assert_eq!(send(left, &vec![7; 4_000_000]), 4_000_000);
            close(left);
        },
        move || {
            let mut part = vec![0; 65_536];
            loop {
                let got = recv(right, &mut part, 0);
                assert!(got >= 0);
                if got == 0 {
                    break;
                }
                count.set(count.get() + got);
            }
        },
        move || {
            let part = send(full, &vec![7; 4_000_000]);
            assert!(part > 0 && part < 4_000_000);
            assert_eq!(send(full, b"more"), -1);
            assert_eq!(errno(), libc::EAGAIN);
        },
    ]);
    assert_eq!(total.get(), 4_000_000);
}

/// Receives until the end of the stream, with readv into two buffers.
fn drain(fd: libc::c_int) -> Vec<u8> {
    let (mut all, mut one, mut two) = (Vec::new(), [0u8; 1_000], [0u8; 3_000]);
    loop {
        let vectors = [
            libc::iovec { iov_base: one.as_mut_ptr().cast(), iov_len: one.len() },
            libc::iovec { iov_base: two.as_mut_ptr().cast(), iov_len: two.len() },
        ];
        // SAFETY: both buffers are live.
        let got = unsafe { libc::readv(fd, vectors.as_ptr(), 2) };
        assert!(got >= 0);
        if got == 0 {
            return all;
        }
        let got = got as usize;
        all.extend_from_slice(&one[..got.min(1_000)]);
        all.extend_from_slice(&two[..got.saturating_sub(1_000)]);
    }
}

#[test]
fn vectors_messages_and_files_go_whole_through_a_socket() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    let data: Vec<u8> = (0..1_500_000u32).map(|byte| (byte / 7) as u8).collect();
    let path = std::env::temp_dir().join(format!("weft-sendfile-{}", std::process::id()));
    std::fs::write(&path, &data).unwrap();
    let (expected, file) = (data.repeat(3), path.clone());
    let runtime = run(tasks![
        move || {
            use std::os::fd::AsRawFd;
            let part = |from: usize, to: usize| libc::iovec {
                iov_base: data[from..to].as_ptr().cast_mut().cast(),
                iov_len: to - from,
            };
            let mut vectors = [part(0, 10), part(10, 10), part(10, 700_000), part(700_000, 1_500_000)];
            let file = std::fs::File::open(&file).unwrap();
            // SAFETY: the vectors lie in `data`; the all-zero message is empty; a null offset is the file's own.
            unsafe {
                assert_eq!(libc::writev(left, vectors.as_ptr(), 4), 1_500_000);
                let mut message: libc::msghdr = std::mem::zeroed();
                (message.msg_iov, message.msg_iovlen) = (vectors.as_mut_ptr(), 4);
                assert_eq!(libc::sendmsg(left, &raw const message, libc::MSG_NOSIGNAL), 1_500_000);
                let null = std::ptr::null_mut();
                assert_eq!(libc::sendfile(left, file.as_raw_fd(), null, 1_500_000), 1_500_000);
                assert_eq!(libc::fcntl(left, libc::F_GETFL) & libc::O_NONBLOCK, 0);
            }
            close(left);
        },
        move || assert!(drain(right) == expected),
    ]);
    assert!(runtime.stats.parks.get() > 0);
    assert_eq!(runtime.stats.blocked.get(), 0);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_message_with_waitall_fills_every_vector() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    run(tasks![
        move || {
            let (mut one, mut two) = ([0u8; 3], [0u8; 5]);
            let mut vectors = [
                libc::iovec { iov_base: one.as_mut_ptr().cast(), iov_len: 3 },
                libc::iovec { iov_base: two.as_mut_ptr().cast(), iov_len: 5 },
            ];
            // SAFETY: the all-zero message is empty; the vectors are live.
            unsafe {
                let mut message: libc::msghdr = std::mem::zeroed();
                (message.msg_iov, message.msg_iovlen) = (vectors.as_mut_ptr(), 2);
                assert_eq!(libc::recvmsg(left, &raw mut message, libc::MSG_WAITALL), 8);
            }
            assert_eq!((&one, &two), (b"abc", b"defgh"));
        },
        move || {
            for part in [&b"ab"[..], b"cd", b"efg", b"h"] {
                assert_eq!(send(right, part), part.len() as isize);
                // SAFETY: usleep takes a number.
                unsafe { libc::usleep(500) };
            }
        },
    ]);
}
