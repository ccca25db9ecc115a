//! Drained sockets that others have too: another number, another thread, another process; and numbers that another file
//! gets.
#![allow(unsafe_code)]

mod common;
#[path = "common/drained.rs"]
mod drained;
#[path = "common/fd.rs"]
mod fd;

use drained::{LONG, drain, poll, with_drained};
use fd::{close, read, recv, send, send_descriptor, socket_pair};
use libc::{MSG_DONTWAIT, POLLIN, c_int};

/// Runs `work` in a child process and waits for its end.
fn in_child(work: impl FnOnce()) {
    // SAFETY: the child makes system calls and ends without running anything of this process.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            work();
            libc::_exit(0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        assert_eq!(status, 0);
    }
}

#[test]
fn a_number_that_another_socket_gets_is_not_drained() {
    for by_thread in [false, true] {
        with_drained(move |[fd, old]| {
            // SAFETY: dup takes a number. The copy keeps the first socket open.
            let kept = unsafe { libc::dup(fd) };
            let [other, peer] = socket_pair(libc::SOCK_STREAM);
            assert_eq!(send(peer, b"early"), 5);
            // SAFETY: dup2 takes numbers; the test owns both.
            let replace = move || assert_eq!(unsafe { libc::dup2(other, fd) }, fd);
            if by_thread {
                std::thread::spawn(replace).join().unwrap();
            } else {
                replace();
            }
            assert_eq!(poll(fd, LONG), POLLIN);
            assert_eq!(recv(fd, &mut [0; 64], 0), 5);
            assert_eq!(send(old, b"for the first"), 13);
            assert_eq!(poll(fd, 5), 0);
            [other, peer, kept].into_iter().for_each(close);
        });
    }
}

#[test]
fn both_numbers_of_one_socket_wake_for_what_arrives() {
    with_drained(|[fd, peer]| {
        // SAFETY: dup takes a number.
        let other = unsafe { libc::dup(fd) };
        drain([other, peer]);
        assert_eq!(send(peer, b"here"), 4);
        assert_eq!(poll(fd, LONG), POLLIN);
        assert_eq!(poll(other, LONG), POLLIN);
        assert_eq!(recv(other, &mut [0; 64], MSG_DONTWAIT), 4);
        assert_eq!(poll(fd, 5), 0, "the other number has received it");
        assert_eq!(send(peer, b"more"), 4);
        assert_eq!(recv(fd, &mut [0; 64], 0), 4);
        close(other);
    });
}

#[test]
fn a_socket_that_was_passed_wakes_under_its_new_number() {
    with_drained(|[fd, peer]| {
        let [to, from] = socket_pair(libc::SOCK_STREAM);
        send_descriptor(from, fd, b"x");
        let mut control = [0_u64; 4];
        let mut byte = 0_u8;
        let mut vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // SAFETY: the message is of live values; the kernel writes one descriptor.
        let passed = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut vector;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            assert_eq!(libc::recvmsg(to, &raw mut message, 0), 1);
            *libc::CMSG_DATA(libc::CMSG_FIRSTHDR(&raw const message)).cast::<c_int>()
        };
        assert_eq!(send(peer, b"here"), 4);
        assert_eq!(poll(passed, LONG), POLLIN);
        assert_eq!(poll(fd, LONG), POLLIN);
        assert_eq!(read(passed, &mut [0; 64]), 4);
        assert_eq!(poll(fd, 5), 0);
        [to, from, passed].into_iter().for_each(close);
    });
}

#[test]
fn a_process_that_shares_the_socket_may_receive_and_send() {
    with_drained(|[fd, peer]| {
        assert_eq!(send(peer, b"for the child"), 13);
        in_child(|| assert_eq!(recv(fd, &mut [0; 64], 0), 13));
        assert_eq!(poll(fd, 5), 0, "the child has received it");
        in_child(|| assert_eq!(send(peer, b"by the child"), 12));
        assert_eq!(poll(fd, LONG), POLLIN);
        assert_eq!(recv(fd, &mut [0; 64], MSG_DONTWAIT), 12);
        in_child(|| {
            // SAFETY: fcntl takes numbers: the mode belongs to the socket, which both have.
            unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) };
        });
        assert_eq!(send(peer, b"here"), 4);
        assert_eq!(recv(fd, &mut [0; 64], 0), 4, "what has come is received without waiting for its event");
    });
}

#[test]
fn a_thread_that_receives_takes_nothing_away_from_the_next_wait() {
    with_drained(|[fd, peer]| {
        assert_eq!(send(peer, b"for the thread"), 14);
        std::thread::spawn(move || assert_eq!(recv(fd, &mut [0; 64], 0), 14)).join().unwrap();
        assert_eq!(poll(fd, 5), 0);
        assert_eq!(send(peer, b"here"), 4);
        assert_eq!(poll(fd, LONG), POLLIN);
    });
}
