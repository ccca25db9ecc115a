//! Drained sockets for tests: a socket and its peer, of which the runtime knows that nothing can be received.
#![allow(unsafe_code)]

use libc::{MSG_DONTWAIT, POLLIN, c_int};

use crate::common::run;
use crate::fd::{close, errno, recv, send, socket_pair, tcp_pair};
use crate::tasks;

/// A wait whose end the test is certain of.
pub const LONG: c_int = 20_000;

/// poll(2) for input, errors and hang-ups, as PHP's streams make it: what is ready, 0 for nothing in that time.
pub fn poll(fd: c_int, span_ms: c_int) -> i16 {
    let mut entry = libc::pollfd { fd, events: POLLIN | libc::POLLERR | libc::POLLHUP, revents: 0 };
    // SAFETY: one live entry.
    let ready = unsafe { libc::poll(&raw mut entry, 1, span_ms) };
    assert!(ready >= 0, "errno {}", errno());
    assert_eq!(ready == 1, entry.revents != 0);
    entry.revents
}

/// Receives from a socket often enough to make its type worth asking for, and then all that it has.
pub fn drain([fd, peer]: [c_int; 2]) {
    for _ in 0..5 {
        assert_eq!(send(peer, b"first"), 5);
        assert_eq!(recv(fd, &mut [0; 64], MSG_DONTWAIT), 5);
    }
}

/// Runs `work` in a coroutine with a drained socket and its peer: a Unix stream, then TCP.
pub fn with_drained(work: impl Fn([c_int; 2]) + Copy + 'static) {
    for pair in [socket_pair(libc::SOCK_STREAM), tcp_pair()] {
        run(tasks![move || {
            drain(pair);
            work(pair);
            pair.into_iter().for_each(close);
        }]);
    }
}
