//! PHP's questions to the server: the [`Host`] trait, and the table of C symbols that calls it.
//!
//! C calls every row below on the engine's thread. A row returns plain values and calls no function of Zend, so a
//! longjmp never passes through it. Some rows park the calling coroutine, and say so.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::abi::{
    Accepted, Asked, CLIENT_GONE, Field, HEADERS_MAX, LogLevel, MessageSent, NO_SITE, OverflowPolicy,
    Remembered, SettingKind,
};
use crate::connections::{Connections, Event};
pub use crate::slice::Slice;
use crate::topics::Topics;

/// Identifies a request to the host; never 0.
pub type RequestId = u64;

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Header {
    name: Slice,
    value: Slice,
}

/// A header line that PHP lends for the duration of one call.
pub type HeaderLine<'a> = (&'a [u8], &'a [u8]);

/// What a service has said of a connection that it accepts.
#[derive(Clone, Copy, Debug)]
pub struct Accept<'a> {
    /// The number of the service.
    pub service: u32,
    /// What becomes of messages for which there is no room.
    pub overflow: OverflowPolicy,
    /// Whether it wants to know when nothing waits for the client any more.
    pub wants_drained: bool,
    /// Whether a coroutine takes the events itself.
    pub is_owned: bool,
    /// The subprotocol.
    pub protocol: Option<&'a [u8]>,
    /// Further header lines of the answer.
    pub headers: &'a [HeaderLine<'a>],
    /// What is remembered of the connection.
    pub attributes: &'a [HeaderLine<'a>],
}

/// How the messages of a stream are told apart.
#[derive(Clone, Copy, Debug)]
pub enum DeclaredFraming<'a> {
    /// They are not.
    Raw,
    /// Each ends with these bytes.
    Delimited(&'a [u8]),
    /// Each begins with its length.
    Prefixed {
        /// Bytes of the length.
        bytes: u8,
        /// Whether its last byte is the most significant one.
        is_little_endian: bool,
        /// Whether it counts its own bytes.
        counts_itself: bool,
    },
}

/// What an application says of a service of streams while it boots.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredStream<'a> {
    /// The number of the service.
    pub service: u32,
    /// What becomes of messages for which there is no room.
    pub overflow: OverflowPolicy,
    /// Whether it wants to know when nothing waits for a client any more.
    pub wants_drained: bool,
    /// Whether a coroutine takes the events itself.
    pub is_owned: bool,
    /// Whether it is one of datagrams, of which nothing else is said.
    pub takes_datagrams: bool,
    /// How messages are told apart.
    pub framing: DeclaredFraming<'a>,
}

/// The server, as PHP sees it. No method may keep a borrow while it parks; none may call Zend.
///
/// The defaults are those of a process without requests.
#[expect(unused_variables, reason = "the defaults have nothing to look at")]
pub trait Host {
    /// Writes a line to the error log; `request` is 0 outside of any.
    fn log(&self, level: LogLevel, request: RequestId, message: &[u8]);
    /// Output of PHP code outside of any request.
    fn output(&self, bytes: &[u8]);
    /// This process should be replaced after the requests in flight.
    fn replace(&self, reason: &[u8]) {}

    /// The status of a cancelled request: 504 if it ran too long, 503 if its worker ends.
    fn cancel_status(&self) -> u16 {
        503
    }

    /// A field of the request, or [`Slice::NONE`] if it has none.
    fn field(&self, request: RequestId, field: Field) -> Slice {
        Slice::NONE
    }
    /// The header line at `index`, in the received order.
    fn header_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        None
    }
    /// A variable of the connection for `$_SERVER` beside those of headers: its name, behind which a NUL lies, and its
    /// value. Asked for from 0 on until there is none.
    fn variable_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        None
    }
    /// The number of the request's site; [`NO_SITE`] where there are none.
    fn site(&self, request: RequestId) -> u32 {
        NO_SITE
    }
    /// A setting of the site with this number. Asked for from 0 on until there is none.
    fn setting_at(&self, site: u32, index: u32) -> Option<(SettingKind, Slice, Slice)> {
        None
    }
    /// The trailer line at `index`; none before the body is complete.
    fn trailer_at(&self, request: RequestId, index: u32) -> Option<(Slice, Slice)> {
        None
    }
    /// When the request arrived, in seconds since 1970.
    fn time(&self, request: RequestId) -> f64 {
        0.0
    }
    /// Whether the client has disconnected.
    fn aborted(&self, request: RequestId) -> bool {
        true
    }
    /// Another request that may begin at once, on the coroutine that has just ended one; the host has told the
    /// scheduler.
    fn next_request(&self) -> Option<RequestId> {
        None
    }
    /// Copies body bytes from `offset` on; parks until there are some. Returns `Ok(0)` at the end; `Err` is the status
    /// to answer with if the body failed.
    fn body_read(&self, request: RequestId, offset: u64, buffer: &mut [u8]) -> Result<usize, u16> {
        Err(CLIENT_GONE)
    }
    /// Parks until the body is complete; returns its length, or an error as `body_read`.
    fn body_wait(&self, request: RequestId) -> Result<u64, u16> {
        Err(CLIENT_GONE)
    }
    /// Keeps the head of a request beyond its end, until `release`.
    fn detach(&self, request: RequestId) {}
    /// Releases a detached head.
    fn release(&self, request: RequestId) {}
    /// Answers with a body of known length, and returns how much of it was accepted; the rest goes to `respond_rest`.
    /// `None` if the client has disconnected, or the response is invalid (which is logged).
    fn respond(&self, request: RequestId, status: u16, headers: &[HeaderLine], body: &[u8]) -> Option<usize> {
        None
    }
    /// Sends the part that `respond` has not accepted; parks while the client is too slow. Returns `false` if
    /// the client has disconnected.
    fn respond_rest(&self, request: RequestId, rest: &[u8]) -> bool {
        false
    }
    /// Answers with a file. `Err` is the status that says why not: 403, 404.
    fn respond_file(
        &self,
        request: RequestId,
        status: u16,
        headers: &[HeaderLine],
        path: &[u8],
    ) -> Result<(), u16> {
        Err(404)
    }
    /// Which headers delegate a response: [`SENDFILE`](crate::abi::SENDFILE) and
    /// [`ACCEL_REDIRECT`](crate::abi::ACCEL_REDIRECT), as bits.
    fn delegations(&self, request: RequestId) -> u32 {
        0
    }
    /// Answers with a file of a directory that the operator has configured. `Err` is the status that says why not: 404,
    /// 403, 500.
    fn send_file(
        &self,
        request: RequestId,
        status: u16,
        headers: &[HeaderLine],
        path: &[u8],
    ) -> Result<(), u16> {
        Err(404)
    }
    /// Answers with whatever answers the path of a URI. `Ok(true)` if a script does, whose fields are the request's
    /// from now on.
    fn redirect(&self, request: RequestId, headers: &[HeaderLine], uri: &[u8]) -> Result<bool, u16> {
        Err(404)
    }
    /// Opens a file of the document root that PHP is to run or to read settings from, and returns its real path. `None`
    /// if PHP may open it itself, because links may lead anywhere. `Err` is the status that says why not: 403, 404.
    fn open_source(&self, request: RequestId, path: &[u8]) -> Option<Result<(OwnedFd, PathBuf), u16>> {
        None
    }
    /// Begins a response of unknown length.
    fn stream_start(&self, request: RequestId, status: u16, headers: &[HeaderLine]) -> bool {
        false
    }
    /// Makes the writer of the response follow the client's pace, where otherwise the unread part would wait in a file.
    fn stream_at_pace(&self, request: RequestId) {}
    /// Sends a piece; parks while the client is too slow. Returns `false` if the client has disconnected.
    fn stream_write(&self, request: RequestId, chunk: &[u8]) -> bool {
        false
    }
    /// Ends the response; if it `failed`, in a way that the client notices.
    fn stream_end(&self, request: RequestId, trailers: &[HeaderLine], failed: bool) {}
    /// How a request asks for a WebSocket; invalid handshakes are answered.
    fn asks_for_websocket(&self, request: RequestId) -> Asked {
        Asked::No
    }
    /// Answers with 101. With [`Accepted::Open`], the name of the connection is lent.
    fn accept_websocket(&self, request: RequestId, accept: &Accept<'_>) -> (Accepted, Slice) {
        (Accepted::Answered, Slice::NONE)
    }
    /// Another tunnel whose event has come, for a coroutine that has just ended one and goes on with it.
    fn next_event(&self) -> Option<u64> {
        None
    }
    /// The next event of the tunnel for which a job runs. What it holds is lent.
    fn take_event(&self, tunnel: u64) -> Option<Event> {
        None
    }
    /// That event has been handled; if the service has `failed`, its connection is closed.
    fn event_done(&self, tunnel: u64, failed: bool) {}
    /// The job of an event could not be started: another one will be.
    fn postpone_event(&self, tunnel: u64) {}
    /// Sends a message to a connection by its name, with the key of the state that it tells; that is empty for none.
    fn websocket_send(&self, name: &[u8], is_binary: bool, message: &[u8], key: &[u8]) -> MessageSent {
        MessageSent::Lost
    }
    /// Closes a connection. Returns `false` if it is closed.
    fn websocket_close(&self, name: &[u8], code: u16, reason: &[u8]) -> bool {
        false
    }
    /// Bytes that wait for its client; `None` if it is closed.
    fn websocket_waiting(&self, name: &[u8]) -> Option<usize> {
        None
    }
    /// The application has a service of streams with this path. Called while it boots.
    fn declare_stream(&self, path: &[u8], declared: &DeclaredStream<'_>) {}
    /// Connections in the hands of coroutines, and streams; `None` in a process without any.
    fn connections(&self) -> Option<&dyn Connections> {
        None
    }
    /// An attribute of a connection.
    fn websocket_attribute(&self, name: &[u8], attribute: &[u8]) -> Slice {
        Slice::NONE
    }
    /// Sets an attribute, or removes it.
    fn websocket_remember(&self, name: &[u8], attribute: &[u8], value: Option<&[u8]>) -> Remembered {
        Remembered::Gone
    }
    /// Topics, if this process is a server's worker.
    fn topics(&self) -> Option<&dyn Topics> {
        None
    }
    /// What `fpm_get_status()` returns, as JSON; valid until the next question.
    fn fpm_status(&self) -> Slice {
        Slice::NONE
    }
    /// Sends a 103 response. Returns `false` if that is no longer possible, or a header is invalid.
    fn early_hints(&self, request: RequestId, headers: &[HeaderLine]) -> bool {
        false
    }
}

thread_local! {
    static HOST: Cell<Option<&'static dyn Host>> = const { Cell::new(None) };
}

/// Sets the host of this process's PHP.
pub fn install(host: &'static dyn Host) {
    HOST.set(Some(host));
}

/// Whether a host has been set.
pub fn installed() -> bool {
    HOST.get().is_some()
}

pub(crate) fn with<T>(otherwise: T, ask: impl FnOnce(&'static dyn Host) -> T) -> T {
    HOST.get().map_or(otherwise, ask)
}

/// A failed body for C: minus the status.
fn failure(status: u16) -> i64 {
    -i64::from(status)
}

/// Calls `work` with the lines behind a C array.
///
/// # Safety
/// `headers` points to `count` headers whose slices are valid during the call.
pub(crate) unsafe fn with_headers<T>(
    headers: *const Header,
    count: usize,
    work: impl FnOnce(&[HeaderLine]) -> T,
) -> T {
    const INLINE: usize = 4;
    if headers.is_null() || count == 0 {
        return work(&[]);
    }
    // SAFETY: by contract.
    let list = unsafe { std::slice::from_raw_parts(headers, count.min(HEADERS_MAX)) };
    // SAFETY: by contract, each slice is valid during the call.
    let line = |header: &Header| unsafe { (header.name.get(), header.value.get()) };
    if count <= INLINE {
        let mut lines: [HeaderLine; INLINE] = [(&[], &[]); INLINE];
        list.iter().zip(&mut lines).for_each(|(header, slot)| *slot = line(header));
        work(&lines[..list.len()])
    } else {
        let lines: Vec<HeaderLine> = list.iter().map(line).collect();
        work(&lines)
    }
}

// SAFETY of all rows: called by c/ only, with the arguments its prototypes in host.h promise.

#[unsafe(no_mangle)]
extern "C" fn weft_host_field(request: u64, field: u32) -> Slice {
    with(Slice::NONE, |host| Field::from_c(field).map_or(Slice::NONE, |field| host.field(request, field)))
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_fpm_status() -> Slice {
    with(Slice::NONE, Host::fpm_status)
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_time(request: u64) -> f64 {
    with(0.0, |host| host.time(request))
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_aborted(request: u64) -> bool {
    with(true, |host| host.aborted(request))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_next_request(request: *mut u64) -> bool {
    let Some(next) = with(None, |host| host.next_request()) else { return false };
    // SAFETY: C passes the address of a word of its own.
    unsafe { *request = next };
    true
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_body_read(request: u64, offset: u64, buffer: *mut u8, size: usize) -> i64 {
    // SAFETY: C passes a buffer of `size` bytes, which stays where it is while the coroutine is parked.
    let buffer = unsafe { std::slice::from_raw_parts_mut(buffer, size) };
    with(-1, |host| host.body_read(request, offset, buffer).map_or_else(failure, |n| n as i64))
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_body_wait(request: u64) -> i64 {
    with(-1, |host| host.body_wait(request).map_or_else(failure, |n| n as i64))
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_detach(request: u64) {
    with((), |host| host.detach(request));
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_release(request: u64) {
    with((), |host| host.release(request));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_respond(
    request: u64,
    status: u32,
    headers: *const Header,
    count: usize,
    body: Slice,
) -> bool {
    // SAFETY: as promised in host.h; nothing parks while the headers are lent.
    let taken = unsafe {
        with_headers(headers, count, |lines| {
            with(None, |host| host.respond(request, status as u16, lines, body.get()))
        })
    };
    // SAFETY: C keeps the body alive for the time of the call, parked or not.
    let body = unsafe { body.get() };
    match taken {
        Some(taken) if taken < body.len() => with(false, |host| host.respond_rest(request, &body[taken..])),
        Some(_) => true,
        None => false,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_stream_start(
    request: u64,
    status: u32,
    headers: *const Header,
    count: usize,
) -> bool {
    // SAFETY: as promised in host.h.
    unsafe {
        with_headers(headers, count, |lines| {
            with(false, |host| host.stream_start(request, status as u16, lines))
        })
    }
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_stream_at_pace(request: u64) {
    with((), |host| host.stream_at_pace(request));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_stream_write(request: u64, chunk: Slice) -> bool {
    // SAFETY: C keeps the chunk alive for the time of the call, parked or not.
    let chunk = unsafe { chunk.get() };
    with(false, |host| host.stream_write(request, chunk))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_stream_end(request: u64, trailers: *const Header, count: usize, failed: bool) {
    // SAFETY: as promised in host.h.
    unsafe { with_headers(trailers, count, |lines| with((), |host| host.stream_end(request, lines, failed))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_early_hints(request: u64, headers: *const Header, count: usize) -> bool {
    // SAFETY: as promised in host.h.
    unsafe { with_headers(headers, count, |lines| with(false, |host| host.early_hints(request, lines))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_log(level: u32, request: u64, message: Slice) {
    let level = LogLevel::from_c(level).unwrap_or(LogLevel::Notice);
    // SAFETY: valid during the call.
    let message = unsafe { message.get() };
    with((), |host| host.log(level, request, message));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_output(bytes: Slice) {
    // SAFETY: valid during the call.
    let bytes = unsafe { bytes.get() };
    with((), |host| host.output(bytes));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_replace(reason: Slice) {
    // SAFETY: valid during the call.
    let reason = unsafe { reason.get() };
    with((), |host| host.replace(reason));
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_cancel_status() -> u32 {
    with(503, |host| u32::from(host.cancel_status()))
}
