//! The last steps of a worker that fails: its connections leave or are answered, and the master hears what has happened.
//!
//! A worker fails by a crash (SIGSEGV and the like), by code that nothing can stop, or when the master gives it up.
//! Must not know how connections leave. Invariant: everything here runs in a handler of signals on the loop's thread,
//! once, and the process ends after it: so it allocates nothing and takes no lock, but for the last words, which come when
//! all else is done, and which may fail or be ended.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::fmt::{self, Write};
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use rustix::net::{SendFlags, send};
use weft_rt::{CoroutineId, Job, Runtime};
use weft_serve::{Goodbyes, RequestKey, Rescued, Server};

use crate::master::control::{CRASHED, PACKET_BYTES_MAX};

/// How much of a request's target is said.
const TARGET_BYTES_MAX: usize = 1024;
/// How much of PHP's stack.
const TRACE_BYTES_MAX: usize = 2048;

/// What is needed at the end.
#[derive(Clone, Copy)]
struct Ward {
    runtime: &'static Runtime,
    server: &'static Server,
    control: RawFd,
}

/// Why this worker fails.
#[derive(Clone, Copy)]
struct Failure {
    culprit: Option<RequestKey>,
    is_late: bool,
}

thread_local! {
    static WARD: Cell<Option<Ward>> = const { Cell::new(None) };
    static FAILURE: Cell<Option<Failure>> = const { Cell::new(None) };
}

/// Whether the connections have left already.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// From here on a crash of this process is handled. On the loop's thread; `control` MUST stay open.
pub fn prepare(runtime: &'static Runtime, server: &'static Server, control: RawFd) {
    WARD.set(Some(Ward { runtime, server, control }));
    weft_zend::report_crashes(crashed);
}

/// Gives away or answers all connections. `is_late`: the running request gets 504. The process MUST end after it.
pub fn give_away(is_late: bool) -> Rescued {
    let Some(ward) = WARD.get().filter(|_| !IS_OVER.swap(true, Relaxed)) else { return Rescued::default() };
    let culprit = ward.runtime.running().and_then(|(_, job)| crate::php::request_of(job));
    // No hook takes a call from here on for a coroutine's.
    ward.runtime.step_out();
    let rescued = ward.server.rescue(culprit, is_late);
    FAILURE.set(Some(Failure { culprit, is_late }));
    rescued
}

/// Says goodbye to clients whose connections could not leave, and has the logs written. The process MUST end after it: by
/// this signal, or if that is 0 with the status of a worker that was given up, it ends if the last words fail or take
/// too long.
pub fn say_last_words(signal: i32) {
    weft_zend::attempt_last_words(last_words, signal);
}

extern "C" fn last_words() {
    let (Some(ward), Some(failure)) = (WARD.get(), FAILURE.take()) else { return };
    let goodbyes = ward.server.say_goodbye(failure.culprit, failure.is_late);
    if goodbyes != Goodbyes::default() {
        let mut packet = Text::<PACKET_BYTES_MAX>::new();
        packet.push(&[CRASHED]);
        // A packet that is full is complete enough.
        let _ = write!(
            packet,
            "has told clients over TLS and HTTP/2: {} requests had not begun and may be sent again, {} were answered with an \
             error, {} were cut off",
            goodbyes.refused, goodbyes.failed, goodbyes.cut_off
        );
        tell_master(ward, &packet);
    }
    crate::log::finish();
}

extern "C" fn crashed(signal: i32) {
    let Some(ward) = WARD.get() else { return };
    let mut packet = Text::<PACKET_BYTES_MAX>::new();
    packet.push(&[CRASHED]);
    let running = ward.runtime.running();
    // A packet that is full is complete enough.
    let _ = name(&mut packet, ward.server, signal, running);
    let rescued = give_away(false);
    let mut trace = [0; TRACE_BYTES_MAX];
    let length = if running.is_some() { weft_zend::crash_location(&mut trace) } else { 0 };
    if length > 0 {
        packet.push(b" in ");
        packet.push(&trace[..length]);
    }
    let _ = outcome(&mut packet, &rescued);
    tell_master(ward, &packet);
    say_last_words(signal);
}

fn tell_master(ward: Ward, packet: &Text<PACKET_BYTES_MAX>) {
    // SAFETY: the worker keeps its control end open until it exits.
    let control = unsafe { BorrowedFd::borrow_raw(ward.control) };
    // If the socket is full, the master does not read.
    let _ = send(control, packet.bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

fn name(
    text: &mut impl Write,
    server: &Server,
    signal: i32,
    running: Option<(CoroutineId, Job)>,
) -> fmt::Result {
    let signal = match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        _ => "a signal",
    };
    write!(text, "crashes by {signal}")?;
    let Some((id, job)) = running else { return write!(text, " outside of any request") };
    let written = crate::php::request_of(job).and_then(|key| {
        server.peek_request(key, |request| {
            write!(text, " in coroutine {}: ", id.index)?;
            printable(text, request.method())?;
            text.write_char(' ')?;
            printable(text, &request.target()[..request.target().len().min(TARGET_BYTES_MAX)])
        })
    });
    written.unwrap_or_else(|| write!(text, " in coroutine {}, which has no request", id.index))
}

fn printable(text: &mut impl Write, bytes: &[u8]) -> fmt::Result {
    bytes
        .iter()
        .try_for_each(|byte| text.write_char(if byte.is_ascii_graphic() { *byte as char } else { '?' }))
}

/// What became of the others, as a part of a sentence.
pub fn outcome(text: &mut impl Write, rescued: &Rescued) -> fmt::Result {
    write!(
        text,
        "; {} requests are answered by other workers, {} were answered with an error, {} were cut off",
        rescued.passed_on, rescued.failed, rescued.cut_off
    )?;
    match rescued.kept {
        0 => Ok(()),
        kept => write!(text, ", {kept} came over TLS or HTTP/2 and cannot be passed on"),
    }
}

/// Text in a place of fixed size. What does not fit is left out.
pub struct Text<const BYTES: usize> {
    bytes: [u8; BYTES],
    length: usize,
}

impl<const BYTES: usize> Text<BYTES> {
    /// An empty one.
    pub fn new() -> Self {
        Text { bytes: [0; BYTES], length: 0 }
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = &mut self.bytes[self.length..];
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.length += count;
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl<const BYTES: usize> Write for Text<BYTES> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}
