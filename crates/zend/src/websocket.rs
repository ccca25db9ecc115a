//! PHP's questions about WebSockets: the rows of the table of C symbols that concern a tunnel or a connection's name.
//!
//! As in [`crate::host`]: called from C on the engine's thread; nothing here calls Zend or parks.
#![allow(unsafe_code)]

use crate::abi::{Accepted, Asked, IS_OWNED, MessageSent, OverflowPolicy, Remembered, WANTS_DRAINED};
use crate::connections::Event;
use crate::host::{Accept, Header, Slice, with, with_headers};

// SAFETY of all rows: called by c/ only, with the arguments its prototypes in websocket.h promise.

#[unsafe(no_mangle)]
extern "C" fn weft_host_websocket_asked(request: u64) -> u32 {
    with(Asked::No, |host| host.asks_for_websocket(request)) as u32
}

/// The lines that C passes to [`weft_host_websocket_accept`].
#[repr(C)]
pub(crate) struct Lines {
    list: *const Header,
    count: usize,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_websocket_accept(
    request: u64,
    service: u32,
    manner: u32,
    protocol: Slice,
    lines: *const Lines,
    name: *mut Slice,
) -> u32 {
    let overflow = OverflowPolicy::from_c(manner & 3).unwrap_or(OverflowPolicy::Close);
    let (wants_drained, is_owned) = (manner & WANTS_DRAINED != 0, manner & IS_OWNED != 0);
    // SAFETY: C passes an array of two lists, the headers and the attributes, whose slices are valid during the call.
    unsafe {
        let (headers, attributes) = (&*lines, &*lines.add(1));
        let protocol = protocol.is_some().then(|| protocol.get());
        with_headers(headers.list, headers.count, |headers| {
            with_headers(attributes.list, attributes.count, |attributes| {
                let accept =
                    Accept { service, overflow, wants_drained, is_owned, protocol, headers, attributes };
                let otherwise = (Accepted::Answered, Slice::NONE);
                let (accepted, lent) = with(otherwise, |host| host.accept_websocket(request, &accept));
                *name = lent;
                accepted as u32
            })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_event_take(tunnel: u64, event: *mut Event) -> bool {
    let Some(taken) = with(None, |host| host.take_event(tunnel)) else { return false };
    // SAFETY: C passes the address of its own struct.
    unsafe { event.write(taken) };
    true
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_next_event(tunnel: *mut u64) -> bool {
    let Some(next) = with(None, |host| host.next_event()) else { return false };
    // SAFETY: C passes the address of a word of its own.
    unsafe { *tunnel = next };
    true
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_event_done(tunnel: u64, failed: bool) {
    with((), |host| host.event_done(tunnel, failed));
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_event_postpone(tunnel: u64) {
    with((), |host| host.postpone_event(tunnel));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_websocket_send(
    name: Slice,
    is_binary: bool,
    message: Slice,
    key: Slice,
) -> u32 {
    // SAFETY: valid during the call.
    let (name, message, key) = unsafe { (name.get(), message.get(), key.get()) };
    with(MessageSent::Lost, |host| host.websocket_send(name, is_binary, message, key)) as u32
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_websocket_close(name: Slice, code: u32, reason: Slice) -> bool {
    // SAFETY: valid during the call.
    let (name, reason) = unsafe { (name.get(), reason.get()) };
    with(false, |host| host.websocket_close(name, code as u16, reason))
}

/// Bytes that wait; -1 if it is closed.
#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_websocket_waiting(name: Slice) -> i64 {
    // SAFETY: valid during the call.
    let name = unsafe { name.get() };
    with(None, |host| host.websocket_waiting(name)).map_or(-1, |bytes| bytes as i64)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_websocket_attribute(name: Slice, attribute: Slice) -> Slice {
    // SAFETY: valid during the call.
    let (name, attribute) = unsafe { (name.get(), attribute.get()) };
    with(Slice::NONE, |host| host.websocket_attribute(name, attribute))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_websocket_remember(name: Slice, attribute: Slice, value: Slice) -> u32 {
    // SAFETY: valid during the call.
    let (name, attribute) = unsafe { (name.get(), attribute.get()) };
    // SAFETY: the same.
    let value = value.is_some().then(|| unsafe { value.get() });
    with(Remembered::Gone, |host| host.websocket_remember(name, attribute, value)) as u32
}
