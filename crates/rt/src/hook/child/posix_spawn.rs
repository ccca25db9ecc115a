//! posix_spawn(3): the child gets the descriptors of its family and a clean signal state, as after fork and execve.
//!
//! PHP starts the programs of proc_open with it since 8.3, and libraries do as well. The child shares no code with us
//! before it executes the program, so what it is to close is put in front of the caller's file actions: behind them it
//! would close what they have just opened. The caller's actions are copied as they are, by the two numbers and the
//! pointer that glibc's `<spawn.h>` shows; the size of one action is found by looking at two of them.
//!
//! It must not know who waits for the child. Invariant: where the actions cannot be copied, no child is started that has
//! another family's descriptors (ENOSYS).
#![allow(unsafe_code)]

use std::sync::OnceLock;

use libc::{c_char, c_int, c_uint, pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};

use super::apart::kept_apart;
use super::signals::of_program;
use super::{children, owner};
use crate::family::NOBODY;
use crate::hook::call::Call;
use crate::hook::real::real;

/// posix_spawn and posix_spawnp.
type Spawn = unsafe extern "C" fn(
    *mut pid_t,
    *const c_char,
    *const posix_spawn_file_actions_t,
    *const posix_spawnattr_t,
    *const *mut c_char,
    *const *mut c_char,
) -> c_int;

/// The public part of glibc's `posix_spawn_file_actions_t`.
#[repr(C)]
struct Actions {
    allocated: c_int,
    used: c_int,
    first: *mut u8,
}

/// libc's posix_spawn: this executable's own symbol is the hook.
pub(super) fn real_posix_spawn() -> Spawn {
    real!(c"posix_spawn": fn(*mut pid_t, *const c_char, *const posix_spawn_file_actions_t, *const posix_spawnattr_t,
        *const *mut c_char, *const *mut c_char) -> c_int)
}

fn real_posix_spawnp() -> Spawn {
    real!(c"posix_spawnp": fn(*mut pid_t, *const c_char, *const posix_spawn_file_actions_t, *const posix_spawnattr_t,
        *const *mut c_char, *const *mut c_char) -> c_int)
}

/// Makes the child close the descriptors that the coroutine's family does not have.
pub(super) unsafe fn close_what_is_not_given(call: Call, actions: *mut posix_spawn_file_actions_t) {
    let family = call.runtime.family().unwrap_or(NOBODY);
    let close_from = real!(c"posix_spawn_file_actions_addclosefrom_np":
        fn(*mut posix_spawn_file_actions_t, c_int) -> c_int);
    owner::not_given(family, |first, last| {
        if last == c_uint::MAX {
            // SAFETY: initialised by the caller's contract.
            unsafe { close_from(actions, first as c_int) };
            return;
        }
        for fd in first..=last {
            // A number that is not open does no harm. SAFETY: initialised by the caller's contract.
            unsafe { libc::posix_spawn_file_actions_addclose(actions, fd as c_int) };
        }
    });
}

/// The size of an action in bytes, from where two numbers stand that were given to two actions; `None`: not glibc's layout.
fn action_bytes() -> Option<usize> {
    static BYTES: OnceLock<Option<usize>> = OnceLock::new();
    const PROBES: [c_int; 2] = [211, 223];
    *BYTES.get_or_init(|| {
        // SAFETY: the all-zero object is storage for the init function; the words that are read belong to the array of
        // actions, of which there are two, each larger than a word.
        unsafe {
            let mut actions: posix_spawn_file_actions_t = std::mem::zeroed();
            libc::posix_spawn_file_actions_init(&raw mut actions);
            PROBES.iter().for_each(|&fd| {
                libc::posix_spawn_file_actions_addclose(&raw mut actions, fd);
            });
            let shown = (&raw const actions).cast::<Actions>();
            let found = ((*shown).used == 2 && (*shown).allocated >= 2).then(|| {
                let words: *const c_int = (*shown).first.cast();
                // Two actions of at least one word: the second number stands within the first 128 bytes or the layout
                // is another.
                let at = |fd: c_int, from: usize| (from..32).find(|&word| words.add(word).read() == fd);
                let first = at(PROBES[0], 0)?;
                Some((at(PROBES[1], first + 1)? - first) * size_of::<c_int>())
            });
            libc::posix_spawn_file_actions_destroy(&raw mut actions);
            found.flatten()
        }
    })
}

/// Runs `spawn` with what the child is to close in front of the caller's actions.
unsafe fn with_own_descriptors(
    call: Call,
    callers: *const posix_spawn_file_actions_t,
    spawn: impl FnOnce(*const posix_spawn_file_actions_t) -> c_int,
) -> c_int {
    let Some(bytes) = action_bytes() else { return libc::ENOSYS };
    // SAFETY: the all-zero object is storage for the init function. The caller's actions are initialised by the
    // contract, and are used.len() times `bytes` long; ours are destroyed as an array only: what the copies point to is
    // the caller's.
    unsafe {
        let mut closes: posix_spawn_file_actions_t = std::mem::zeroed();
        libc::posix_spawn_file_actions_init(&raw mut closes);
        close_what_is_not_given(call, &raw mut closes);
        let shown = (&raw mut closes).cast::<Actions>();
        let own = (*shown).used as usize * bytes;
        let copied = callers
            .cast::<Actions>()
            .as_ref()
            .map_or((0, std::ptr::null()), |callers| (callers.used, callers.first.cast_const()));
        let mut all = vec![0_u8; own + copied.0 as usize * bytes];
        all[..own].copy_from_slice(std::slice::from_raw_parts((*shown).first, own));
        if copied.0 > 0 {
            all[own..].copy_from_slice(std::slice::from_raw_parts(copied.1, copied.0 as usize * bytes));
        }
        let mut joined: posix_spawn_file_actions_t = std::mem::zeroed();
        let joined_shown = (&raw mut joined).cast::<Actions>();
        (*joined_shown).used = (*shown).used + copied.0;
        (*joined_shown).allocated = (*joined_shown).used;
        (*joined_shown).first = all.as_mut_ptr();
        let result = spawn(&raw const joined);
        libc::posix_spawn_file_actions_destroy(&raw mut closes);
        result
    }
}

/// The caller's attributes, with an empty signal mask and default actions for what the worker ignores, unless the caller
/// sets them itself.
unsafe fn with_clean_signals(
    callers: *const posix_spawnattr_t,
    spawn: impl FnOnce(*const posix_spawnattr_t) -> c_int,
) -> c_int {
    // SAFETY: posix_spawnattr_t is plain data in glibc and musl, so a copy is as good as the original; a new one is
    // initialised first. The sets are live.
    unsafe {
        let mut attributes: posix_spawnattr_t = std::mem::zeroed();
        libc::posix_spawnattr_init(&raw mut attributes);
        if !callers.is_null() {
            attributes = callers.read();
        }
        let mut flags = 0;
        libc::posix_spawnattr_getflags(&raw const attributes, &raw mut flags);
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        if c_int::from(flags) & libc::POSIX_SPAWN_SETSIGMASK == 0 {
            libc::posix_spawnattr_setsigmask(&raw mut attributes, &raw const signals);
        }
        if c_int::from(flags) & libc::POSIX_SPAWN_SETSIGDEF == 0 {
            for signal in of_program() {
                libc::sigaddset(&raw mut signals, signal);
            }
            libc::posix_spawnattr_setsigdefault(&raw mut attributes, &raw const signals);
        }
        let all = c_int::from(flags) | libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
        libc::posix_spawnattr_setflags(&raw mut attributes, all as _);
        spawn(&raw const attributes)
    }
}

/// The arguments of posix_spawn but for what is changed here.
struct Program {
    real: Spawn,
    pid: *mut pid_t,
    path: *const c_char,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
}

unsafe fn start(
    call: Option<Call>,
    program: &Program,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
) -> c_int {
    let mut started: pid_t = 0;
    let spawn = |actions, attributes, pid: *mut pid_t| {
        // SAFETY: by the caller's contract, and the objects of this file are live for the call.
        unsafe {
            (program.real)(pid, program.path, actions, attributes, program.arguments, program.environment)
        }
    };
    let Some(call) = call else { return spawn(actions, attributes, program.pid) };
    // SAFETY: the caller's objects are initialised by the contract.
    let error = unsafe {
        with_clean_signals(attributes, |attributes| {
            if kept_apart() {
                with_own_descriptors(call, actions, |actions| spawn(actions, attributes, &raw mut started))
            } else {
                spawn(actions, attributes, &raw mut started)
            }
        })
    };
    if error == 0 {
        children::started(Some(call), started);
        owner::inherited(call.runtime.family().unwrap_or(NOBODY), false);
        // SAFETY: null or room for a number, by the caller's contract.
        if let Some(pid) = unsafe { program.pid.as_mut() } {
            *pid = started;
        }
    }
    error
}

pub unsafe fn posix_spawn(
    call: Option<Call>,
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    let program = Program { real: real_posix_spawn(), pid, path, arguments, environment };
    // SAFETY: by the caller's contract.
    unsafe { start(call, &program, actions, attributes) }
}

pub unsafe fn posix_spawnp(
    call: Option<Call>,
    pid: *mut pid_t,
    file: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    let program = Program { real: real_posix_spawnp(), pid, path: file, arguments, environment };
    // SAFETY: by the caller's contract.
    unsafe { start(call, &program, actions, attributes) }
}
