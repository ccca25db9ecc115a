//! The C functions of `c/`, declared once. All of them MUST be called on the one thread that started the engine, except
//! `weft_interrupt_preempt`, `weft_interrupt_late`, `weft_code_*_running` and `weft_timeslice_end`, which any thread
//! may call.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

#[repr(C)]
pub struct EngineOptions {
    pub ini: *const c_char,
    pub ini_path: *const c_char,
    pub executable: *const c_char,
    pub cli: bool,
    pub ignore_ini: bool,
    pub residents: *const ResidentScript,
    pub residents_count: usize,
    pub classic: bool,
    pub library: *const c_char,
    pub instances: bool,
    pub sapi_name: *const c_char,
    pub withholds: bool,
    pub superglobals: *mut u32,
}

/// A worker script, for the contexts of one pool.
#[repr(C)]
pub struct ResidentScript {
    pub path: *const c_char,
    pub requests_max: u64,
    pub pool: u32,
    pub site: u32,
}

/// The result of [`weft_find_loaded_php`]: texts that end with a zero byte.
#[repr(C)]
pub struct LoadedPhp {
    pub file: [c_char; 4096],
    pub version: [c_char; 64],
    pub build: [c_char; 64],
    pub wanted_version: [c_char; 64],
    pub wanted_build: [c_char; 64],
}

/// The result of [`weft_instances_report`].
#[repr(C)]
pub struct InstancesFigures {
    pub instances: u32,
    pub pages: u32,
    pub lines: u32,
    pub switches: u64,
    pub heap_bytes: u64,
    pub typical_bytes: u64,
    pub promised_bytes: u64,
}

/// The result of [`weft_native_footprint`] and [`weft_instance_footprint`], in bytes.
#[repr(C)]
#[derive(Default)]
pub struct Footprint {
    pub stack: usize,
    pub heap: usize,
}

unsafe extern "C" {
    pub static mut weft_development: bool;

    pub fn weft_find_loaded_php(loaded: *mut LoadedPhp);

    pub fn weft_engine_start(options: *const EngineOptions) -> c_int;
    pub fn weft_engine_begin(script: *const c_char, argc: c_int, argv: *mut *mut c_char) -> c_int;
    pub fn weft_engine_end();
    pub fn weft_engine_exit_status() -> c_int;
    pub fn weft_engine_has_ini(name: *const c_char) -> bool;
    pub fn weft_engine_ini(name: *const c_char, buffer: *mut c_char, size: usize) -> usize;
    pub fn weft_engine_extensions(buffer: *mut c_char, size: usize) -> usize;
    pub fn weft_unknown_extensions(buffer: *mut c_char, size: usize) -> usize;
    pub fn weft_engine_opcache(jit: *mut bool) -> bool;
    pub fn weft_engine_memory() -> usize;

    pub fn weft_isolate_start();
    pub fn weft_handler_load(path: *const c_char) -> u32;

    pub fn weft_script_prepare(kind: u32, source: *const c_char);
    pub fn weft_script_status() -> c_int;

    pub fn weft_switch_start(bare: bool, stack_bytes: usize);
    pub fn weft_coroutine_create() -> *mut c_void;
    pub fn weft_coroutine_enter(coroutine: *mut c_void, has_job: bool, job: u32, argument: u64) -> u32;
    pub fn weft_coroutine_leave(coroutine: *mut c_void);
    pub fn weft_coroutine_resumed(coroutine: *mut c_void);
    pub fn weft_coroutine_may_leave() -> bool;
    pub fn weft_coroutine_destroy(coroutine: *mut c_void);

    pub fn weft_signals_pending() -> bool;
    pub fn weft_native_start(stack_bytes: usize);
    pub fn weft_native_create(pool: u32) -> *mut c_void;
    pub fn weft_native_enter(coroutine: *mut c_void, has_job: bool, job: u32, argument: u64) -> u32;
    pub fn weft_native_leave(coroutine: *mut c_void);
    pub fn weft_native_destroy(coroutine: *mut c_void);
    pub fn weft_resident_end();
    pub fn weft_resident_try(pool: u32) -> bool;
    pub fn weft_failure_start(contain: bool);
    pub fn weft_stack_start();

    pub fn weft_timeslice_start();
    pub fn weft_timeslice_can() -> bool;
    pub fn weft_timeslice_end();
    pub fn weft_timeslice_step(most: u32);
    pub fn weft_timeslice_stop();

    pub fn weft_report_blocked(function: *const c_char);
    pub fn weft_stands_at(line: *mut u32) -> *const c_char;
    pub fn weft_coroutine_trim(coroutine: *const c_void);
    pub fn weft_coroutine_stack(coroutine: *const c_void) -> usize;
    pub fn weft_native_footprint(coroutine: *const c_void, footprint: *mut Footprint);
    pub fn weft_instance_footprint(instance: *const c_void, footprint: *mut Footprint);
    pub fn weft_cancel(for_good: bool);
    pub fn weft_cancel_pending() -> bool;
    pub fn weft_in_conversation() -> bool;
    pub fn weft_asks_for_status() -> bool;
    pub fn weft_tasks_start();
    pub fn weft_tasks_cancel(reason: *const c_char);
    pub fn weft_task_abandon(argument: u64);
    pub fn weft_task_describe(argument: u64, buffer: *mut c_char, size: usize) -> usize;
    pub fn weft_deadlock() -> bool;
    pub fn weft_instances_unfit() -> *const c_char;
    pub fn weft_instances_start(max: u32, heap_bytes: usize, verify: bool) -> *const c_char;
    pub fn weft_instance_create(pool: u32) -> *mut c_void;
    pub fn weft_instance_enter(instance: *mut c_void, has_job: bool, job: u32, argument: u64) -> u32;
    pub fn weft_instance_leave(instance: *mut c_void);
    pub fn weft_instance_destroy(instance: *mut c_void);
    pub fn weft_instances_trim(idle_ns: u64);
    pub fn weft_instances_look() -> bool;
    pub fn weft_extension_unfit(name: *const c_char, buffer: *mut c_char, size: usize) -> usize;
    pub fn weft_extension_file(name: *const c_char, buffer: *mut c_char, size: usize) -> usize;
    pub fn weft_instances_relieve();
    pub fn weft_instances_report() -> InstancesFigures;
    pub fn weft_process_turn();
    pub fn weft_process_record_lock(fd: c_int, command: c_int, lock: *mut c_void, result: *mut c_int)
    -> bool;
    pub fn weft_code_location(text: *mut c_char, size: usize) -> usize;
    pub fn weft_code_function(text: *mut c_char, size: usize) -> usize;
    pub fn weft_code_waiting(coroutine: *const c_void, text: *mut c_char, size: usize) -> usize;
    pub fn weft_instance_waiting(instance: *const c_void, text: *mut c_char, size: usize) -> usize;
    pub fn weft_code_stack(coroutine: *const c_void, text: *mut c_char, size: usize) -> usize;
    pub fn weft_code_stack_running(text: *mut c_char, size: usize) -> usize;
    pub fn weft_code_place_running(text: *mut c_char, size: usize, request: *mut u64) -> usize;
    pub fn weft_code_stack_can_run() -> bool;
    pub fn weft_instance_stack(instance: *const c_void, text: *mut c_char, size: usize) -> usize;
    pub fn weft_crash_location(text: *mut c_char, size: usize) -> usize;
    pub fn weft_crash_start(report: extern "C" fn(c_int));
    pub fn weft_crash_attempt(work: extern "C" fn(), signal_number: c_int);
    pub fn weft_interrupt_preempt();
    pub fn weft_interrupt_late();
}
