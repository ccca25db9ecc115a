//! System V semaphores and message queues: the attempt is made with `IPC_NOWAIT` and repeated after pauses.
#![allow(unsafe_code)]

use libc::{c_int, c_long, c_void, sembuf, size_t, timespec};

use crate::hook::call::Call;
use crate::hook::lock::contend::{freed, until_free};
use crate::hook::lock::resource::Resource;
use crate::hook::raw;
use crate::hook::time::timespec::span_of;

/// The kernel's default maximum of operations in one call (`SEMOPM`); calls with more are plain.
const OPERATIONS_MAX: usize = 500;

pub unsafe fn semop(call: Option<Call>, id: c_int, operations: *mut sembuf, count: size_t) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { semtimedop(call, id, operations, count, std::ptr::null()) }
}

pub unsafe fn semtimedop(
    call: Option<Call>,
    id: c_int,
    operations: *mut sembuf,
    count: size_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: by the caller's contract.
    let plain = || unsafe { raw::syscall!(SYS_semtimedop, id, operations, count, time) };
    let waits = call.filter(|_| !operations.is_null() && (1..=OPERATIONS_MAX).contains(&count));
    // SAFETY: null or live by the caller's contract.
    let span = unsafe { time.as_ref() }.map(span_of);
    let (Some(call), Some(span)) = (waits, span.map_or(Some(None), |span| span.map(Some))) else {
        return plain() as c_int;
    };
    // SAFETY: by the caller's contract.
    let mut tried = unsafe { std::slice::from_raw_parts(operations, count) }.to_vec();
    if tried.iter().any(|operation| c_int::from(operation.sem_flg) & libc::IPC_NOWAIT != 0) {
        // The caller does not want to wait, at least not for all of them.
        return plain() as c_int;
    }
    let releases = tried.iter().any(|operation| operation.sem_op > 0);
    tried.iter_mut().for_each(|operation| operation.sem_flg |= libc::IPC_NOWAIT as i16);
    // SAFETY: the copies are live.
    let attempt = || unsafe { raw::syscall!(SYS_semtimedop, id, tried.as_mut_ptr(), count, 0) };
    let deadline = call.runtime.deadline(span);
    let semaphores = || Resource::Semaphores(id);
    let result = until_free(call, semaphores, &[libc::EAGAIN], deadline, attempt, plain);
    if result == 0 && releases {
        freed(Resource::Semaphores(id));
    }
    result as c_int
}

pub unsafe fn msgsnd(
    call: Option<Call>,
    id: c_int,
    message: *const c_void,
    length: size_t,
    flags: c_int,
) -> c_int {
    // SAFETY: by the caller's contract.
    let send = |flags: c_int| unsafe { raw::syscall!(SYS_msgsnd, id, message, length, flags) };
    let result = match call.filter(|_| flags & libc::IPC_NOWAIT == 0) {
        None => send(flags),
        Some(call) => {
            let (room, attempt) = (|| Resource::Room(id), || send(flags | libc::IPC_NOWAIT));
            until_free(call, room, &[libc::EAGAIN], None, attempt, || send(flags))
        }
    };
    if result == 0 {
        freed(Resource::Message(id));
    }
    result as c_int
}

pub unsafe fn msgrcv(
    call: Option<Call>,
    id: c_int,
    message: *mut c_void,
    length: size_t,
    kind: c_long,
    flags: c_int,
) -> isize {
    // SAFETY: by the caller's contract.
    let receive = |flags: c_int| unsafe { raw::syscall!(SYS_msgrcv, id, message, length, kind, flags) };
    let result = match call.filter(|_| flags & libc::IPC_NOWAIT == 0) {
        None => receive(flags),
        Some(call) => {
            let (sent, attempt) = (|| Resource::Message(id), || receive(flags | libc::IPC_NOWAIT));
            until_free(call, sent, &[libc::ENOMSG], None, attempt, || receive(flags))
        }
    };
    if result >= 0 {
        freed(Resource::Room(id));
    }
    result
}
