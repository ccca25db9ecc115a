//! Sockets that are known to be drained: a wait for them parks without asking the kernel, and nothing that arrives is
//! missed. A wait that parks although there is data did not ask.
#![allow(unsafe_code)]

mod common;
#[path = "common/drained.rs"]
mod drained;
#[path = "common/fd.rs"]
mod fd;

use std::cell::Cell;
use std::rc::Rc;

use common::{MAY_LEAVE, Stage, run};
use drained::{LONG, drain, poll, with_drained};
use fd::{close, errno, pipe, read, recv, send, send_descriptor, set_timeout, socket_pair, tcp_pair, write};
use libc::{MSG_DONTWAIT, MSG_OOB, MSG_PEEK, MSG_WAITALL, POLLIN, c_int};
use weft_rt::Runtime;

/// How often coroutines park during `work`, and its result.
fn parks<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let stats = &Runtime::get().unwrap().stats;
    let before = stats.parks.get();
    let result = work();
    (stats.parks.get() - before, result)
}

#[test]
fn a_drained_socket_is_waited_for_without_asking_and_wakes_for_what_has_come() {
    with_drained(|[fd, peer]| {
        assert_eq!(send(peer, b"second"), 6);
        assert_eq!(parks(|| poll(fd, LONG)), (1, POLLIN));
        assert_eq!(recv(fd, &mut [0; 64], MSG_DONTWAIT), 6);
        // recv itself does not try first either.
        assert_eq!(send(peer, b"third"), 5);
        assert_eq!(parks(|| recv(fd, &mut [0; 64], 0)), (1, 5));
        assert_eq!(send(peer, b"fourth"), 6);
        assert_eq!(parks(|| read(fd, &mut [0; 64])), (1, 6));
    });
}

#[test]
fn a_receive_that_found_nothing_drains_and_one_that_filled_its_room_does_not() {
    with_drained(|[fd, peer]| {
        assert_eq!(send(peer, b"12345678"), 8);
        assert_eq!(poll(fd, LONG), POLLIN);
        assert_eq!(recv(fd, &mut [0; 4], MSG_DONTWAIT), 4);
        assert_eq!(parks(|| poll(fd, LONG)), (0, POLLIN), "four bytes are left");
        assert_eq!(recv(fd, &mut [0; 4], MSG_DONTWAIT), 4);
        assert_eq!(recv(fd, &mut [0; 4], MSG_DONTWAIT), -1);
        assert_eq!(send(peer, b"x"), 1);
        assert_eq!(parks(|| poll(fd, LONG)), (1, POLLIN));
    });
}

#[test]
fn bytes_that_are_only_looked_at_stay_and_a_wait_for_all_goes_on() {
    with_drained(|[fd, peer]| {
        assert_eq!(send(peer, b"seen"), 4);
        assert_eq!(poll(fd, LONG), POLLIN);
        assert_eq!(recv(fd, &mut [0; 64], MSG_PEEK | MSG_DONTWAIT), 4);
        assert_eq!(parks(|| poll(fd, LONG)), (0, POLLIN));
        assert_eq!(recv(fd, &mut [0; 64], MSG_PEEK), 4);
        assert_eq!(recv(fd, &mut [0; 4], MSG_WAITALL), 4);
    });
    let [fd, peer] = tcp_pair();
    let stage = Stage::default();
    let reached = stage.clone();
    run(tasks![
        move || {
            drain([fd, peer]);
            reached.reach(1);
            let mut all = [0; 9];
            assert_eq!(recv(fd, &mut all, MSG_WAITALL), 9);
            assert_eq!(&all, b"onetwosix");
            reached.reach(2);
            assert_eq!(recv(fd, &mut all, MSG_WAITALL | MSG_PEEK), 9);
            assert_eq!(recv(fd, &mut all, 0), 9);
        },
        move || {
            stage.until(1);
            for (part, next) in [(b"one", 1), (b"two", 1), (b"six", 2), (b"one", 2), (b"two", 2), (b"six", 2)]
            {
                assert_eq!(send(peer, part), 3);
                stage.until(next);
                // SAFETY: usleep takes a number.
                unsafe { libc::usleep(500) };
            }
        },
    ]);
}

#[test]
fn an_end_that_came_with_the_last_bytes_is_seen() {
    // The event that reports the end may be taken before the bytes are received, or after.
    for taken in [true, false] {
        with_drained(move |[fd, peer]| {
            assert_eq!(send(peer, b"last"), 4);
            // SAFETY: shutdown takes numbers.
            assert_eq!(unsafe { libc::shutdown(peer, libc::SHUT_WR) }, 0);
            if taken {
                assert_ne!(poll(fd, LONG) & POLLIN, 0);
            }
            assert_eq!(recv(fd, &mut [0; 64], MSG_DONTWAIT), 4);
            assert_ne!(poll(fd, LONG) & POLLIN, 0);
            assert_eq!(recv(fd, &mut [0; 64], 0), 0);
            assert_ne!(poll(fd, LONG) & POLLIN, 0, "the end lasts");
        });
    }
}

#[test]
fn an_end_made_on_this_side_and_a_reset_end_a_wait_too() {
    with_drained(|[fd, _]| {
        // SAFETY: shutdown takes numbers.
        assert_eq!(unsafe { libc::shutdown(fd, libc::SHUT_RD) }, 0);
        assert_ne!(poll(fd, LONG), 0);
        assert_eq!(recv(fd, &mut [0; 64], 0), 0);
    });
    with_drained(|[fd, peer]| {
        let now = libc::linger { l_onoff: 1, l_linger: 0 };
        let (value, length) = ((&raw const now).cast(), size_of_val(&now) as u32);
        // SAFETY: the value is live; the copy keeps the number that the test closes.
        unsafe {
            assert_eq!(libc::setsockopt(peer, libc::SOL_SOCKET, libc::SO_LINGER, value, length), 0);
            let other = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
            assert_eq!(libc::dup2(other, peer), peer);
            close(other);
        }
        assert_ne!(poll(fd, LONG), 0);
        assert!(recv(fd, &mut [0; 64], 0) <= 0);
    });
}

#[test]
fn what_follows_urgent_data_is_seen() {
    for taken in [true, false] {
        let [fd, peer] = tcp_pair();
        run(tasks![move || {
            drain([fd, peer]);
            assert_eq!(send(peer, b"before"), 6);
            // SAFETY: one live byte.
            assert_eq!(unsafe { libc::send(peer, b"!".as_ptr().cast(), 1, MSG_OOB) }, 1);
            assert_eq!(send(peer, b"after"), 5);
            if taken {
                assert_eq!(poll(fd, LONG), POLLIN);
            }
            assert_eq!(recv(fd, &mut [0; 64], MSG_DONTWAIT), 6, "it stops at the mark");
            assert_eq!(poll(fd, LONG), POLLIN);
            assert_eq!(recv(fd, &mut [0; 64], 0), 5);
        }]);
        [fd, peer].into_iter().for_each(close);
    }
}

#[test]
fn what_follows_a_descriptor_that_was_sent_is_seen() {
    let pair @ [fd, peer] = socket_pair(libc::SOCK_STREAM);
    run(tasks![move || {
        drain(pair);
        send_descriptor(peer, 1, b"with");
        assert_eq!(send(peer, b"without"), 7);
        assert_eq!(poll(fd, LONG), POLLIN);
        assert_eq!(recv(fd, &mut [0; 64], MSG_DONTWAIT), 4, "it stops behind the descriptor");
        assert_eq!(parks(|| poll(fd, LONG)), (0, POLLIN));
        assert_eq!(recv(fd, &mut [0; 64], 0), 7);
    }]);
    pair.into_iter().for_each(close);
}

#[test]
fn a_short_message_says_nothing_about_the_next_one() {
    for kind in [libc::SOCK_DGRAM, libc::SOCK_SEQPACKET] {
        let pair @ [fd, peer] = socket_pair(kind);
        run(tasks![move || {
            drain(pair);
            assert_eq!([send(peer, b"one"), send(peer, b"four")], [3, 4]);
            assert_eq!(poll(fd, LONG), POLLIN);
            assert_eq!(recv(fd, &mut [0; 64], MSG_DONTWAIT), 3);
            assert_eq!(parks(|| poll(fd, LONG)), (0, POLLIN));
            assert_eq!(parks(|| recv(fd, &mut [0; 64], 0)), (0, 4));
        }]);
        pair.into_iter().for_each(close);
    }
    let [reader, writer] = pipe();
    run(tasks![move || {
        for _ in 0..5 {
            assert_eq!(write(writer, b"one"), 3);
            assert_eq!(read(reader, &mut [0; 64]), 3);
        }
        assert_eq!(write(writer, b"four"), 4);
        assert_eq!(parks(|| poll(reader, LONG)), (0, POLLIN));
    }]);
    [reader, writer].into_iter().for_each(close);
}

#[test]
fn a_look_that_must_not_wait_asks_the_kernel() {
    with_drained(|[fd, peer]| {
        assert_eq!(poll(fd, 0), 0);
        assert_eq!(send(peer, b"here"), 4);
        assert_eq!(parks(|| poll(fd, 0)), (0, POLLIN));
        let mut waiting: c_int = 0;
        // SAFETY: `waiting` is live.
        assert_eq!(unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut waiting) }, 0);
        assert_eq!(waiting, 4);
        // In non-blocking mode a receive never waits for an event, so it tries.
        let mut on: c_int = 1;
        // SAFETY: `on` is live.
        assert_eq!(unsafe { libc::ioctl(fd, libc::FIONBIO, &raw mut on) }, 0);
        assert_eq!(parks(|| recv(fd, &mut [0; 64], 0)), (0, 4));
        assert_eq!(parks(|| recv(fd, &mut [0; 64], 0)), (0, -1));
        assert_eq!(errno(), libc::EAGAIN);
        assert_eq!(send(peer, b"again"), 5);
        assert_eq!(parks(|| recv(fd, &mut [0; 64], 0)), (0, 5));
    });
    with_drained(|[fd, peer]| {
        assert_eq!(send(peer, b"here"), 4);
        MAY_LEAVE.set(false);
        assert_eq!(parks(|| poll(fd, LONG)), (0, POLLIN), "a coroutine that may not leave does not park");
        assert_eq!(parks(|| recv(fd, &mut [0; 64], 0)), (0, 4));
        MAY_LEAVE.set(true);
    });
}

#[test]
fn who_asks_whether_the_peer_is_there_is_told_before_long_and_after_each_wait() {
    with_drained(|[fd, peer]| {
        let look = || recv(fd, &mut [0; 1], MSG_PEEK | MSG_DONTWAIT);
        assert_eq!(look(), -1);
        assert_eq!(errno(), libc::EAGAIN);
        assert_eq!(send(peer, b"x"), 1);
        // Without a wait: what the loop was told last is believed for a moment.
        while look() == -1 {
            assert_eq!(errno(), libc::EAGAIN);
        }
        assert_eq!(look(), 1);
        assert_eq!(recv(fd, &mut [0; 64], MSG_DONTWAIT), 1);
        assert_eq!(send(peer, b"x"), 1);
        assert_eq!(poll(fd, LONG), POLLIN);
        assert_eq!(look(), 1);
        assert_eq!(recv(fd, &mut [0; 64], MSG_DONTWAIT), 1);
        // SAFETY: shutdown takes numbers.
        assert_eq!(unsafe { libc::shutdown(peer, libc::SHUT_WR) }, 0);
        while look() == -1 {
            assert_eq!(errno(), libc::EAGAIN);
        }
        assert_eq!(look(), 0, "the end is seen");
    });
}

#[test]
fn waits_for_a_drained_socket_end_with_their_time() {
    with_drained(|[fd, _]| {
        assert_eq!(parks(|| poll(fd, 5)), (1, 0));
        set_timeout(fd, libc::SO_RCVTIMEO, 5);
        assert_eq!(recv(fd, &mut [0; 64], 0), -1);
        assert_eq!(errno(), libc::EAGAIN);
    });
}

#[test]
fn each_of_several_coroutines_on_one_socket_waits_until_there_is_something_for_it() {
    let received = Rc::new(Cell::new(0));
    let pair @ [fd, peer] = tcp_pair();
    let stage = Stage::default();
    run(tasks![{
        let stage = stage.clone();
        move || {
            drain(pair);
            stage.reach(1);
        }
    }]);
    let receiver = || {
        let received = Rc::clone(&received);
        move || {
            assert_eq!(poll(fd, LONG), POLLIN);
            assert_eq!(recv(fd, &mut [0; 8], MSG_DONTWAIT), 8, "poll has said that there is something");
            received.set(received.get() + 1);
        }
    };
    let count = Rc::clone(&received);
    run(tasks![receiver(), receiver(), move || {
        for number in 1..=2 {
            assert_eq!(send(peer, b"8 bytes."), 8);
            while count.get() < number {
                // SAFETY: usleep takes a number.
                unsafe { libc::usleep(200) };
            }
        }
    }]);
    assert_eq!(received.get(), 2);
    pair.into_iter().for_each(close);
}
