//! Hooked calls that wait for readiness and connections, and how waits end: closed, cancelled, forbidden, outside.
#![allow(unsafe_code)]

mod common;
#[path = "common/fd.rs"]
mod fd;

use std::cell::Cell;
use std::rc::Rc;

use common::{MAY_LEAVE, Stage, run};
use fd::{close, errno, recv, send, set_timeout, socket_pair};
use libc::{c_int, c_void};
use weft_rt::{MILLISECOND, SECOND, clock, hook};

fn loopback() -> (c_int, libc::sockaddr_in) {
    // SAFETY: every pointer is to a live value of the length told.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as _;
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let mut length = size_of_val(&address) as u32;
        assert_eq!(libc::bind(fd, (&raw const address).cast(), length), 0);
        assert_eq!(libc::getsockname(fd, (&raw mut address).cast(), &raw mut length), 0);
        (fd, address)
    }
}

fn connect(address: libc::sockaddr_in) -> (c_int, c_int) {
    // SAFETY: the address is live.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
        (fd, libc::connect(fd, (&raw const address).cast(), size_of_val(&address) as u32))
    }
}

#[test]
fn closing_a_descriptor_ends_the_waits_on_it_with_ebadf_though_its_number_is_used_again() {
    let [left, _right] = socket_pair(libc::SOCK_STREAM);
    let [other, peer] = socket_pair(libc::SOCK_STREAM);
    run(tasks![
        move || {
            assert_eq!(recv(left, &mut [0; 4], 0), -1);
            assert_eq!(errno(), libc::EBADF);
        },
        move || {
            assert_eq!(send(peer, b"not for the first"), 17);
            // SAFETY: dup2 takes numbers; the test owns both.
            assert_eq!(unsafe { libc::dup2(other, left) }, left);
        },
        move || {
            let mut buffer = [0; 32];
            assert_eq!(recv(left, &mut buffer, 0), 17);
        },
    ]);
}

#[test]
fn a_range_of_descriptors_that_is_closed_ends_waits_too() {
    let [left, _right] = socket_pair(libc::SOCK_STREAM);
    run(tasks![
        move || {
            assert_eq!(recv(left, &mut [0; 4], 0), -1);
            assert_eq!(errno(), libc::EBADF);
        },
        // SAFETY: the test owns the one descriptor of the range.
        move || assert_eq!(unsafe { libc::close_range(left as u32, left as u32, 0) }, 0),
    ]);
}

#[test]
fn a_number_that_another_thread_gave_to_another_socket_is_waited_for_anew() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    let [other, peer] = socket_pair(libc::SOCK_STREAM);
    let stage = Stage::default();
    let reached = stage.clone();
    run(tasks![
        move || {
            reached.reach(1);
            assert_eq!(recv(left, &mut [0; 4], 0), 1);
            // SAFETY: the test owns both. The thread has no runtime to tell.
            let replace = move || unsafe { libc::dup2(other, left) };
            assert_eq!(std::thread::spawn(replace).join().unwrap(), left);
            reached.reach(2);
            assert_eq!(recv(left, &mut [0; 4], 0), 2);
        },
        move || {
            stage.until(1);
            assert_eq!(send(right, b"x"), 1);
            stage.until(2);
            assert_eq!(send(peer, b"yz"), 2);
        },
    ]);
}

#[test]
fn readiness_reported_before_a_close_does_not_lead_to_a_read_of_the_next_user() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    let [other, peer] = socket_pair(libc::SOCK_STREAM);
    let ended = Rc::new(Cell::new(0));
    let count = Rc::clone(&ended);
    // Both wait for the same event; the first that wakes gives the number to another file.
    let wait = move || {
        let count = Rc::clone(&count);
        Box::new(move || {
            let got = recv(left, &mut [0; 4], 0);
            if got >= 0 {
                // SAFETY: dup2 takes numbers; the test owns both.
                assert_eq!(unsafe { libc::dup2(other, left) }, left);
                assert_eq!(send(peer, b"private"), 7);
            } else {
                assert_eq!(errno(), libc::EBADF);
            }
            count.set(count.get() + 1);
        }) as Box<dyn FnOnce()>
    };
    run([wait(), wait(), Box::new(move || assert_eq!(send(right, b"x"), 1)) as Box<dyn FnOnce()>]);
    assert_eq!(ended.get(), 2);
    assert_eq!(recv(left, &mut [0; 8], libc::MSG_DONTWAIT), 7);
}

#[test]
fn poll_waits_for_one_for_many_and_for_time_alone() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    let [idle, _peer] = socket_pair(libc::SOCK_STREAM);
    let entry = |fd, events| libc::pollfd { fd, events, revents: -1 };
    // SAFETY: the slice is live.
    let poll = |fds: &mut [libc::pollfd], ms| unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as u64, ms) };
    let stage = Stage::default();
    let reached = stage.clone();
    run(tasks![
        move || {
            let start = clock::now();
            assert_eq!(poll(&mut [], 10), 0);
            assert_eq!(poll(&mut [entry(left, libc::POLLIN)], 10), 0);
            assert_eq!(poll(&mut [entry(left, libc::POLLIN), entry(-1, libc::POLLIN)], 10), 0);
            assert!(clock::now() - start >= 30 * MILLISECOND);
            reached.reach(1);
            let mut one = [entry(left, libc::POLLIN | libc::POLLRDHUP)];
            assert_eq!((poll(&mut one, -1), one[0].revents), (1, libc::POLLIN));
            assert_eq!(recv(left, &mut [0; 8], 0), 1);
            let mut many =
                [entry(idle, libc::POLLIN), entry(-1, libc::POLLIN), entry(left, libc::POLLRDNORM)];
            reached.reach(2);
            assert_eq!(poll(&mut many, 60_000), 1);
            assert_eq!(many.map(|fd| fd.revents), [0, 0, libc::POLLRDNORM]);
            assert_eq!(recv(left, &mut [0; 8], 0), 1);
            reached.reach(3);
            let mut hup = [entry(left, libc::POLLRDHUP)];
            assert_eq!(poll(&mut hup, -1), 1);
            assert_eq!(hup[0].revents, libc::POLLRDHUP | libc::POLLHUP);
        },
        move || {
            stage.until(1);
            assert_eq!(send(right, b"a"), 1);
            stage.until(2);
            assert_eq!(send(right, b"b"), 1);
            stage.until(3);
            close(right);
        },
    ]);
}

#[test]
fn select_answers_in_its_sets_and_tells_the_time_left() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    let stage = Stage::default();
    let reached = stage.clone();
    run(tasks![
        move || {
            // SAFETY: the all-zero fd_set is the empty set; all pointers are to live values.
            unsafe {
                let (mut read, mut write): (libc::fd_set, libc::fd_set) =
                    (std::mem::zeroed(), std::mem::zeroed());
                libc::FD_SET(left, &raw mut read);
                let mut time = libc::timeval { tv_sec: 0, tv_usec: 10_000 };
                let null = std::ptr::null_mut();
                assert_eq!(libc::select(left + 1, &raw mut read, null, null, &raw mut time), 0);
                assert!(!libc::FD_ISSET(left, &raw const read));
                assert_eq!((time.tv_sec, time.tv_usec), (0, 0));
                libc::FD_SET(left, &raw mut read);
                time.tv_sec = 60;
                reached.reach(1);
                assert_eq!(libc::select(left + 1, &raw mut read, null, null, &raw mut time), 1);
                assert!(libc::FD_ISSET(left, &raw const read) && time.tv_sec > 0);
                libc::FD_SET(left, &raw mut write);
                assert_eq!(
                    libc::select(left + 1, &raw mut read, &raw mut write, null, std::ptr::null_mut()),
                    2
                );
            }
        },
        move || {
            stage.until(1);
            assert_eq!(send(right, b"a"), 1);
        },
    ]);
}

#[test]
fn an_epoll_descriptor_of_the_program_is_waited_for_like_any_other() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    let stage = Stage::default();
    let reached = stage.clone();
    let runtime = run(tasks![
        move || {
            // SAFETY: epoll's pointers are to live values.
            unsafe {
                let epoll = libc::epoll_create1(libc::EPOLL_CLOEXEC);
                let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 42 };
                assert_eq!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, left, &raw mut event), 0);
                assert_eq!(libc::epoll_wait(epoll, &raw mut event, 1, 5), 0);
                reached.reach(1);
                assert_eq!(libc::epoll_wait(epoll, &raw mut event, 1, -1), 1);
                assert_eq!({ event.u64 }, 42);
                close(epoll);
            }
        },
        move || {
            stage.until(1);
            assert_eq!(send(right, b"a"), 1);
        },
    ]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn a_connection_is_made_between_two_coroutines_and_a_refused_one_says_so() {
    let (listener, address) = loopback();
    let (_bound, nobody) = loopback();
    // SAFETY: listen takes numbers.
    assert_eq!(unsafe { libc::listen(listener, 8) }, 0);
    run(tasks![
        move || {
            let null = std::ptr::null_mut::<c_void>();
            // SAFETY: no address is asked for.
            let fd = unsafe { libc::accept(listener, null.cast(), null.cast()) };
            assert!(fd >= 0);
            let mut buffer = [0; 8];
            assert_eq!(recv(fd, &mut buffer, 0), 5);
            close(fd);
        },
        move || {
            let (fd, result) = connect(address);
            assert_eq!(result, 0);
            // SAFETY: F_GETFL takes no argument.
            assert_eq!(unsafe { libc::fcntl(fd, libc::F_GETFL) } & libc::O_NONBLOCK, 0);
            assert_eq!(send(fd, b"hello"), 5);
            assert_eq!(recv(fd, &mut [0; 8], 0), 0);
            let (_, result) = connect(nobody);
            assert_eq!((result, errno()), (-1, libc::ECONNREFUSED));
        },
    ]);
}

#[test]
fn a_connection_made_where_leaving_is_forbidden_blocks_until_it_is_made() {
    let (listener, address) = loopback();
    // SAFETY: listen takes numbers.
    assert_eq!(unsafe { libc::listen(listener, 8) }, 0);
    let runtime = run(tasks![move || {
        MAY_LEAVE.set(false);
        assert_eq!(connect(address).1, 0);
        MAY_LEAVE.set(true);
    }]);
    assert_eq!(runtime.stats.parks.get(), 0);
}

#[test]
fn a_coroutine_that_may_not_leave_blocks_for_real_and_is_counted() {
    let [left, _right] = socket_pair(libc::SOCK_STREAM);
    set_timeout(left, libc::SO_RCVTIMEO, 5);
    let runtime = run(tasks![move || {
        MAY_LEAVE.set(false);
        let start = clock::now();
        assert_eq!(recv(left, &mut [0; 4], 0), -1);
        assert_eq!(errno(), libc::EAGAIN);
        assert!(clock::now() - start >= 5 * MILLISECOND);
        MAY_LEAVE.set(true);
    }]);
    assert_eq!((runtime.stats.blocked.get(), runtime.stats.parks.get()), (1, 0));
    assert!(hook::blocked_calls().any(|(name, count)| name == "recv" && count > 0));
}

#[test]
fn a_cancelled_coroutine_gets_ecanceled_from_this_call_and_the_next() {
    let [left, _right] = socket_pair(libc::SOCK_STREAM);
    let id = Rc::new(Cell::new(None));
    let slot = Rc::clone(&id);
    run(tasks![
        move || {
            slot.set(weft_rt::Runtime::get().unwrap().current());
            for _ in 0..2 {
                assert_eq!(recv(left, &mut [0; 4], 0), -1);
                assert_eq!(errno(), libc::ECANCELED);
            }
        },
        move || assert!(weft_rt::Runtime::get().unwrap().cancel(id.get().unwrap())),
    ]);
}

#[test]
fn outside_a_coroutine_the_calls_are_libc_s() {
    let [left, right] = socket_pair(libc::SOCK_STREAM);
    assert_eq!(recv(left, &mut [0; 4], libc::MSG_DONTWAIT), -1);
    assert_eq!(errno(), libc::EAGAIN);
    let sender = std::thread::spawn(move || send(right, b"late"));
    let mut buffer = [0; 4];
    assert_eq!(recv(left, &mut buffer, libc::MSG_WAITALL), 4);
    assert_eq!((sender.join().unwrap(), &buffer), (4, b"late"));
    let mut fd = libc::pollfd { fd: left, events: libc::POLLIN, revents: 0 };
    let start = clock::now();
    // SAFETY: the entry is live.
    assert_eq!(unsafe { libc::poll(&raw mut fd, 1, 5) }, 0);
    assert!(clock::now() - start >= 5 * MILLISECOND && clock::now() - start < 60 * SECOND);
}
