//! PHP's words about connections in the hands of coroutines, and about streams: the rows of the table of C symbols that
//! concern conversations and TCP services.
//!
//! As in [`crate::host`]: called from C on the engine's thread; nothing here calls Zend or parks.
#![allow(unsafe_code)]

use crate::abi::{FileSent, IS_OWNED, OverflowPolicy, TAKES_DATAGRAMS, Taken, WANTS_DRAINED};
use crate::connections::Event;
use crate::host::{DeclaredFraming, DeclaredStream, with};
use crate::slice::Slice;

// SAFETY of all rows: called by c/ only, with the arguments its prototypes in websocket.h promise.

/// A framing as C passes it.
#[repr(C)]
pub(crate) struct CFraming {
    delimiter: Slice,
    prefix_bytes: u32,
    is_little_endian: bool,
    counts_itself: bool,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_stream_declare(
    path: Slice,
    service: u32,
    manner: u32,
    framing: *const CFraming,
) {
    // SAFETY: C passes its own struct, and slices that are valid during the call.
    let (path, framing) = unsafe { (path.get(), &*framing) };
    // SAFETY: the same.
    let delimiter = unsafe { framing.delimiter.get() };
    let framing = match (delimiter, framing.prefix_bytes) {
        ([], 0) => DeclaredFraming::Raw,
        ([], bytes) => DeclaredFraming::Prefixed {
            bytes: bytes as u8,
            is_little_endian: framing.is_little_endian,
            counts_itself: framing.counts_itself,
        },
        (delimiter, _) => DeclaredFraming::Delimited(delimiter),
    };
    let declared = DeclaredStream {
        service,
        overflow: OverflowPolicy::from_c(manner & 3).unwrap_or(OverflowPolicy::Close),
        wants_drained: manner & WANTS_DRAINED != 0,
        is_owned: manner & IS_OWNED != 0,
        takes_datagrams: manner & TAKES_DATAGRAMS != 0,
        framing,
    };
    with((), |host| host.declare_stream(path, &declared));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_connection_client(name: Slice) -> Slice {
    // SAFETY: valid during the call.
    let name = unsafe { name.get() };
    with(None, |host| host.connections()).map_or(Slice::NONE, |all| all.client(name))
}

/// The number of a connection's service; -1 if it has ended.
#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_connection_service(name: Slice) -> i64 {
    // SAFETY: valid during the call.
    let name = unsafe { name.get() };
    with(None, |host| host.connections()).and_then(|all| all.service(name)).map_or(-1, i64::from)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_stream_give_back(name: Slice, bytes: Slice, wanted: u64) {
    // SAFETY: valid during the call.
    let (name, bytes) = unsafe { (name.get(), bytes.get()) };
    if let Some(all) = with(None, |host| host.connections()) {
        all.give_back(name, bytes, wanted as usize);
    }
}

/// Less than no bytes are the rest of the file.
#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_stream_send_file(name: Slice, path: Slice, offset: u64, length: i64) -> u32 {
    // SAFETY: valid during the call.
    let (name, path) = unsafe { (name.get(), path.get()) };
    let all = with(None, |host| host.connections());
    all.map_or(FileSent::Lost, |all| all.send_file(name, path, offset, u64::try_from(length).ok())) as u32
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_websocket_next(name: Slice, event: *mut Event) -> u32 {
    // SAFETY: valid during the call.
    let name = unsafe { name.get() };
    let taken = with(None, |host| host.connections()).map_or(Err(Taken::Over), |all| all.next(name));
    match taken {
        Ok(taken) => {
            // SAFETY: C passes the address of its own struct.
            unsafe { event.write(taken) };
            Taken::Event as u32
        }
        Err(taken) => taken as u32,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_websocket_await(name: Slice, wait: u64, drained: bool) -> bool {
    // SAFETY: valid during the call.
    let name = unsafe { name.get() };
    with(None, |host| host.connections()).is_some_and(|all| all.end_wait(name, wait, drained))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_websocket_disown(name: Slice, code: u32) {
    // SAFETY: valid during the call.
    let name = unsafe { name.get() };
    if let Some(all) = with(None, |host| host.connections()) {
        all.disown(name, code as u16);
    }
}
