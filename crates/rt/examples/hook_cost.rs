//! The cost of a hook in nanoseconds: `cargo run --release -p weft-rt --example hook_cost`.
//!
//! The switch is corosensei's, about as fast as a raw Fiber switch; a PHP coroutine also swaps its share of globals.
#![allow(unsafe_code)]

#[path = "../tests/common/mod.rs"]
#[macro_use]
mod common;

use common::run;
use libc::c_int;
use weft_rt::clock;

const ROUNDS: u64 = 400_000;
const RUNS: u64 = 200;

fn socket_pair() -> [c_int; 2] {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, fds.as_mut_ptr()) }, 0);
    fds
}

/// The best of many short runs: the cost when nothing else interferes.
fn measure(name: &str, mut work: impl FnMut()) -> u64 {
    let best = (0..RUNS).map(|_| time(&mut work)).min().unwrap_or(0);
    println!("{name:<58} {best:>6} ns");
    best
}

fn time(work: &mut dyn FnMut()) -> u64 {
    let start = clock::now();
    for _ in 0..ROUNDS / RUNS {
        work();
    }
    (clock::now() - start) / (ROUNDS / RUNS)
}

/// One byte is sent and received, so that the receiving call always finds it: the cost of both calls together.
fn ready(name: &str, [left, right]: [c_int; 2], hooked: bool) -> u64 {
    let mut byte = 0u8;
    let buffer = (&raw mut byte).cast::<libc::c_void>();
    measure(name, || {
        // SAFETY: the buffer is one byte.
        let got = unsafe {
            libc::syscall(libc::SYS_sendto, right, buffer, 1usize, 0, 0usize, 0usize);
            match hooked {
                true => libc::recv(left, buffer, 1, 0) as i64,
                false => libc::syscall(libc::SYS_recvfrom, left, buffer, 1usize, 0, 0usize, 0usize),
            }
        };
        assert_eq!(got, 1);
    })
}

fn file_read(name: &str, hooked: bool) {
    use std::os::fd::AsRawFd;
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let (fd, mut block) = (file.as_raw_fd(), [0u8; 64]);
    let buffer = block.as_mut_ptr().cast::<libc::c_void>();
    measure(name, || {
        // SAFETY: the buffer has 64 bytes.
        unsafe {
            match hooked {
                true => libc::read(fd, buffer, 64) as i64,
                false => libc::syscall(libc::SYS_read, fd, buffer, 64usize),
            }
        };
    });
}

fn mutex(name: &str) {
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    measure(name, || {
        // SAFETY: the mutex is live, locked and unlocked in turn.
        unsafe {
            libc::pthread_mutex_lock(&raw mut mutex);
            libc::pthread_mutex_unlock(&raw mut mutex);
        }
    });
}

/// Two coroutines answer each other: each byte costs one send, one recv that parks, and one turn of the loop.
fn ping_pong() {
    let [left, right] = socket_pair();
    let play = |fd: c_int, serves: bool| {
        move || {
            let mut byte = 0u8;
            let buffer = (&raw mut byte).cast::<libc::c_void>();
            for _ in 0..ROUNDS {
                // SAFETY: the buffer is one byte.
                unsafe {
                    if serves {
                        libc::send(fd, buffer, 1, 0);
                    }
                    assert_eq!(libc::recv(fd, buffer, 1, 0), 1);
                    if !serves {
                        libc::send(fd, buffer, 1, 0);
                    }
                }
            }
        }
    };
    let start = clock::now();
    let runtime = run(tasks![play(left, true), play(right, false)]);
    let parks = runtime.stats.parks.get();
    println!("{:<58} {:>6} ns", "send + recv that parks, all included", (clock::now() - start) / parks);
}

fn main() {
    let pair = socket_pair();
    let plain = ready("send + recv, plain system calls", pair, false);
    ready("send + recv, hooked, outside a coroutine", pair, true);
    file_read("read of a file, plain system call", false);
    mutex("mutex lock + unlock, outside a coroutine");
    run(tasks![move || {
        let hooked = ready("send + recv, hooked, in a coroutine", pair, true);
        println!("{:<58} {:>6} ns", "  so a recv that is ready pays", hooked.saturating_sub(plain));
        file_read("read of a file, hooked, in a coroutine", true);
        mutex("mutex lock + unlock, in a coroutine");
        measure("sleep(0): leaves to the loop and comes back", || {
            // SAFETY: usleep takes a number.
            unsafe { libc::usleep(0) };
        });
    }]);
    ping_pong();
}
