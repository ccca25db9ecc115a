//! recvmmsg and sendmmsg, called by their libc names from coroutines.
#![allow(unsafe_code)]

mod common;
#[path = "common/fd.rs"]
mod fd;

use std::os::fd::AsRawFd;

use common::run;
use fd::{close, errno, recv, send, set_timeout, socket_pair};
use libc::{c_int, c_uint};
use weft_rt::{MILLISECOND, clock};

/// Buffers of five bytes for this many messages, and the array that describes them.
struct Messages {
    buffers: Vec<[u8; 5]>,
    vectors: Vec<libc::iovec>,
    array: Vec<libc::mmsghdr>,
}

impl Messages {
    fn new(count: usize) -> Box<Messages> {
        let mut all =
            Box::new(Messages { buffers: vec![[0; 5]; count], vectors: Vec::new(), array: Vec::new() });
        let vectors = |buffer: &mut [u8; 5]| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: 5 };
        all.vectors = all.buffers.iter_mut().map(vectors).collect();
        for vector in 0..count {
            // SAFETY: the all-zero message is empty.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = &raw mut all.vectors[vector];
            message.msg_hdr.msg_iovlen = 1;
            all.array.push(message);
        }
        all
    }

    fn receive(&mut self, fd: c_int, flags: c_int, time: Option<&mut libc::timespec>) -> c_int {
        let time = time.map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: the messages point to live buffers, the time is live or null.
        unsafe { libc::recvmmsg(fd, self.array.as_mut_ptr(), self.array.len() as c_uint, flags, time) }
    }

    fn send(&mut self, fd: c_int) -> c_int {
        // SAFETY: the messages point to live buffers.
        unsafe { libc::sendmmsg(fd, self.array.as_mut_ptr(), self.array.len() as c_uint, libc::MSG_NOSIGNAL) }
    }

    /// What the first ones have received.
    fn texts(&self, count: usize) -> Vec<String> {
        let text = |index: usize| {
            let received = &self.buffers[index][..self.array[index].msg_len as usize];
            String::from_utf8(received.to_vec()).unwrap()
        };
        (0..count).map(text).collect()
    }
}

fn pause() {
    // SAFETY: usleep takes a number.
    unsafe { libc::usleep(500) };
}

#[test]
fn datagrams_are_collected_until_there_are_as_many_as_asked_for() {
    let [left, right] = socket_pair(libc::SOCK_DGRAM);
    let runtime = run(tasks![
        move || {
            let mut messages = Messages::new(4);
            assert_eq!(messages.receive(left, 0, None), 4);
            assert_eq!(messages.texts(4), ["one", "two", "three", "four"]);
        },
        move || {
            for text in ["one", "two"] {
                assert_eq!(send(right, text.as_bytes()), text.len() as isize);
            }
            pause();
            assert_eq!(send(right, b"three"), 5);
            pause();
            assert_eq!(send(right, b"four"), 4);
        },
    ]);
    assert!(runtime.stats.parks.get() >= 3 && runtime.stats.blocked.get() == 0);
}

#[test]
fn waiting_for_one_takes_what_is_there_and_no_more_is_waited_for() {
    let [left, right] = socket_pair(libc::SOCK_DGRAM);
    let runtime = run(tasks![
        move || {
            let mut messages = Messages::new(4);
            assert_eq!(messages.receive(left, libc::MSG_WAITFORONE, None), 2);
            assert_eq!(messages.texts(2), ["a", "b"]);
            assert_eq!(messages.receive(left, libc::MSG_DONTWAIT, None), -1);
            assert_eq!(errno(), libc::EAGAIN);
        },
        move || assert!(send(right, b"a") == 1 && send(right, b"b") == 1),
    ]);
    assert!(runtime.stats.parks.get() >= 1 && runtime.stats.blocked.get() == 0);
}

#[test]
fn a_time_out_is_looked_at_after_each_message_and_what_is_left_of_it_is_told() {
    let [left, right] = socket_pair(libc::SOCK_DGRAM);
    run(tasks![
        move || {
            let mut messages = Messages::new(3);
            // 0: one message, though two lie there.
            let mut none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            assert_eq!(messages.receive(left, 0, Some(&mut none)), 1);
            assert_eq!(messages.texts(1), ["a"]);
            // Long enough for all three; some of it is left.
            let mut long = libc::timespec { tv_sec: 3_600, tv_nsec: 0 };
            assert_eq!(messages.receive(left, 0, Some(&mut long)), 3);
            assert_eq!(messages.texts(3), ["b", "c", "d"]);
            assert!((3_000..3_600).contains(&long.tv_sec), "{}", long.tv_sec);
            // Over before the message comes: it is waited for all the same, and is the last one.
            let mut short = libc::timespec { tv_sec: 0, tv_nsec: 1 };
            assert_eq!(messages.receive(left, 0, Some(&mut short)), 1);
            assert_eq!((short.tv_sec, short.tv_nsec), (0, 0));
            let mut invalid = libc::timespec { tv_sec: 0, tv_nsec: -1 };
            assert_eq!(messages.receive(left, 0, Some(&mut invalid)), -1);
            assert_eq!(errno(), libc::EINVAL);
        },
        move || {
            assert!(send(right, b"a") == 1 && send(right, b"b") == 1);
            pause();
            assert!(send(right, b"c") == 1 && send(right, b"d") == 1);
            pause();
            assert_eq!(send(right, b"e"), 1);
        },
    ]);
}

#[test]
fn a_socket_s_own_time_out_ends_the_call_with_what_it_has() {
    let [left, right] = socket_pair(libc::SOCK_DGRAM);
    set_timeout(left, libc::SO_RCVTIMEO, 20);
    run(tasks![move || {
        let start = clock::now();
        let mut messages = Messages::new(2);
        assert_eq!(messages.receive(left, 0, None), -1);
        assert_eq!(errno(), libc::EAGAIN);
        assert!(clock::now() - start >= 20 * MILLISECOND);
        assert_eq!(send(right, b"a"), 1);
        assert_eq!(messages.receive(left, 0, None), 1);
    }]);
}

#[test]
fn an_error_after_the_first_message_is_left_for_the_next_call() {
    // A datagram to a port without a socket comes back as an error of the sender's socket.
    let (socket, peer) = (std::net::UdpSocket::bind("127.0.0.1:0"), std::net::UdpSocket::bind("127.0.0.1:0"));
    let (socket, peer) = (socket.unwrap(), peer.unwrap());
    socket.connect(peer.local_addr().unwrap()).unwrap();
    let (address, fd) = (socket.local_addr().unwrap(), socket.as_raw_fd());
    let runtime = run(tasks![
        move || {
            let mut messages = Messages::new(3);
            assert_eq!(messages.receive(fd, 0, None), 1);
            assert_eq!(messages.texts(1), ["a"]);
            assert_eq!(messages.receive(fd, 0, None), -1);
            assert_eq!(errno(), libc::ECONNREFUSED);
        },
        move || {
            peer.send_to(b"a", address).unwrap();
            drop(peer);
            // The other coroutine has the message and waits for two more.
            pause();
            assert_eq!(send(fd, b"x"), 1);
        },
    ]);
    assert!(runtime.stats.parks.get() >= 2 && runtime.stats.blocked.get() == 0);
    drop(socket);
}

#[test]
fn a_stream_s_messages_are_filled_one_after_another() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    let runtime = run(tasks![
        move || {
            let mut messages = Messages::new(3);
            assert_eq!(messages.receive(left, libc::MSG_WAITALL, None), 3);
            assert_eq!(messages.texts(3), ["abcde", "fghij", "kl"], "and the third ends with the stream");
        },
        move || {
            for part in ["abc", "defghi", "jkl"] {
                assert_eq!(send(right, part.as_bytes()), part.len() as isize);
                pause();
            }
            close(right);
        },
    ]);
    assert!(runtime.stats.parks.get() >= 3 && runtime.stats.blocked.get() == 0);
}

#[test]
fn all_messages_are_sent_though_the_receiver_is_slow() {
    for kind in [libc::SOCK_DGRAM, libc::SOCK_STREAM] {
        let [left, right] = socket_pair(kind);
        let runtime = run(tasks![
            move || {
                // More than the queue of a Unix socket takes (net.unix.max_dgram_qlen), or its buffer.
                let mut messages = Messages::new(1_500);
                messages.buffers.iter_mut().for_each(|buffer| *buffer = *b"hello");
                assert_eq!(messages.send(left), 1_024, "the kernel sends no more in one call");
                assert!(messages.array[..1_024].iter().all(|message| message.msg_len == 5));
                close(left);
                assert_eq!(messages.send(left), -1);
                assert_eq!(errno(), libc::EBADF);
            },
            move || {
                let mut received = 0;
                while received < 1_024 * 5 {
                    received += recv(right, &mut [0; 64], 0);
                }
            },
        ]);
        assert_eq!(runtime.stats.blocked.get(), 0);
        assert!(kind == libc::SOCK_STREAM || runtime.stats.parks.get() > 0);
    }
}
