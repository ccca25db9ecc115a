//! Starts PHP, boots an application, runs a script, stops.
//!
//! Invariant: there is one engine per process, on one thread, started before fork; all its calls happen on that thread.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::abi::{LoadResult, ScriptKind};
use crate::sys;

/// How PHP is to be started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Ini settings that override php.ini, in order.
    pub ini: Vec<(String, String)>,
    /// A php.ini, or a directory with one, instead of the distribution's.
    pub ini_path: Option<String>,
    /// Whether to read no php.ini at all.
    pub ignore_ini: bool,
    /// Whether to act as the php command: `PHP_SAPI` is "cli".
    pub cli: bool,
    /// Classic mode: [`Engine::begin`] is never called, and each request begins and ends its own PHP request.
    pub classic: bool,
    /// Classic mode with several PHP instances in a worker ([`crate::InstanceSwitch`]).
    pub instances: bool,
    /// The worker scripts of resident mode; they go with `classic`. Pools without one are classic mode's.
    pub residents: Vec<ResidentScript>,
    /// What PHP reports as `PHP_BINARY`.
    pub executable: String,
    /// The directory of weft's PHP library; without it there are only the native classes.
    pub library: Option<PathBuf>,
    /// Whether to show exceptions to clients, with their stacks.
    pub development: bool,
    /// `PHP_SAPI` unless `cli`; empty is "weft".
    pub sapi_name: String,
    /// Whether functions that php-fpm does not have (`pcntl_*`, `chroot()`) are taken away.
    pub withholds: bool,
}

/// A worker script: it stays loaded, and answers one request after another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResidentScript {
    /// The pool whose contexts load it: see [`weft_rt::Job`].
    pub pool: u32,
    /// The number of its site; [`crate::abi::NO_SITE`] without sites.
    pub site: u32,
    /// An absolute path.
    pub path: String,
    /// Requests after which it is loaded again; 0 means never.
    pub requests_max: u64,
}

/// The descriptor that opcache locks while it writes to its shared memory. The JIT does that at any line of PHP that
/// has become hot: parking there would let others run where PHP code waits for nothing. The name is that of PHP's
/// zend_shared_alloc_create_lock() (ext/opcache/zend_shared_alloc.c), which may be a file or, in later versions, a
/// memfd.
fn opcache_locks() -> Vec<c_int> {
    let is_lock = |path: PathBuf| {
        let name = path.to_string_lossy().into_owned();
        name.contains("/.ZendSem.") || name.contains("/memfd:opcache_lock")
    };
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries
        .filter(|entry| std::fs::read_link(entry.path()).is_ok_and(is_lock))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Why the engine, or an application in it, did not start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EngineError {
    /// PHP could not be started; it has written the reason to standard error.
    Start,
    /// The application's script failed; the error log has the reason.
    Boot,
    /// The application's script returned something that is not callable.
    NotCallable,
    /// A path or setting contains a NUL byte.
    Nul(String),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Start => write!(f, "PHP did not start; its own message is above"),
            EngineError::Boot => write!(f, "the application's script failed; the PHP error is above"),
            EngineError::NotCallable => write!(
                f,
                "the script returned no handler; end it with: \
                 return fn (Weft\\Http\\Request $request) => \"Hello World\";"
            ),
            EngineError::Nul(what) => write!(f, "{what:?} contains a NUL byte"),
        }
    }
}

impl std::error::Error for EngineError {}

/// The state of opcache, as it reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Opcache {
    /// Whether it caches.
    pub enabled: bool,
    /// Whether its JIT is on.
    pub jit: bool,
}

/// What `weft php` should run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Script {
    /// A file; "-" is standard input.
    File(String),
    /// Code (`-r`).
    Code(String),
    /// Only check the syntax of a file (`-l`).
    Lint(String),
    /// phpinfo() (`-i`).
    Info,
    /// The list of modules (`-m`).
    Modules,
}

/// PHP, started.
#[derive(Debug)]
pub struct Engine(());

fn c_string(text: &str) -> Result<CString, EngineError> {
    CString::new(text).map_err(|_| EngineError::Nul(text.to_owned()))
}

impl Engine {
    /// Starts PHP in this process. Runs no user code, except a script of `opcache.preload`.
    ///
    /// # Errors
    /// [`EngineError::Start`], [`EngineError::Nul`].
    pub fn start(options: &Options) -> Result<Engine, EngineError> {
        let lines: String = options.ini.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let (ini, executable) = (c_string(&lines)?, c_string(&options.executable)?);
        let ini_path = options.ini_path.as_deref().map(c_string).transpose()?;
        let library = options.library.as_ref().map(|path| c_string(&path.to_string_lossy())).transpose()?;
        let paths = options.residents.iter().map(|script| c_string(&script.path));
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        let residents: Vec<_> = { options.residents.iter().zip(&paths) }
            .map(|(script, path)| sys::ResidentScript {
                path: path.as_ptr(),
                requests_max: script.requests_max,
                pool: script.pool,
                site: script.site,
            })
            .collect();
        let sapi_name = c_string(if options.sapi_name.is_empty() { "weft" } else { &options.sapi_name })?;
        let raw = sys::EngineOptions {
            ini: ini.as_ptr(),
            ini_path: ini_path.as_ref().map_or(std::ptr::null(), |path| path.as_ptr()),
            executable: executable.as_ptr(),
            cli: options.cli,
            ignore_ini: options.ignore_ini,
            residents: residents.as_ptr(),
            residents_count: residents.len(),
            classic: options.classic,
            library: library.as_ref().map_or(std::ptr::null(), |path| path.as_ptr()),
            instances: options.instances,
            sapi_name: sapi_name.as_ptr(),
            withholds: options.withholds,
            superglobals: shared_word(),
        };
        // SAFETY: the strings live for the call, which copies what it keeps; the word is never freed.
        let failed = unsafe {
            sys::weft_development = options.development;
            sys::weft_engine_start(&raw const raw)
        };
        if failed != 0 {
            return Err(EngineError::Start);
        }
        weft_rt::hook::on_brief_locks(opcache_locks());
        Ok(Engine(()))
    }

    /// Begins the request in which everything of this process runs. `arguments[0]` is the script; there must be one.
    ///
    /// # Errors
    /// [`EngineError::Start`], [`EngineError::Nul`].
    pub fn begin(&self, arguments: &[String]) -> Result<(), EngineError> {
        let arguments = arguments.iter().map(|argument| c_string(argument)).collect::<Result<Vec<_>, _>>()?;
        // $argv points into these for as long as the process lives.
        let mut pointers: Vec<*mut c_char> = arguments.into_iter().map(CString::into_raw).collect();
        let count = pointers.len() as c_int;
        pointers.push(std::ptr::null_mut());
        let pointers: &'static mut [*mut c_char] = Vec::leak(pointers);
        // SAFETY: the argument vector is NULL-terminated and never freed.
        let failed = unsafe { sys::weft_engine_begin(pointers[0], count, pointers.as_mut_ptr()) };
        if failed == 0 { Ok(()) } else { Err(EngineError::Start) }
    }

    /// Whether opcache and its JIT are on. MUST come before [`Engine::begin`]: it begins and ends its own request.
    pub fn opcache(&self) -> Opcache {
        let mut jit = false;
        // SAFETY: the engine runs, and is in no request.
        let enabled = unsafe { sys::weft_engine_opcache(&raw mut jit) };
        Opcache { enabled, jit }
    }

    /// Runs the application's script and keeps the handler it returns.
    ///
    /// # Errors
    /// [`EngineError::Boot`], [`EngineError::NotCallable`], [`EngineError::Nul`].
    pub fn load_handler(&self, path: &Path) -> Result<(), EngineError> {
        let path = c_string(&path.to_string_lossy())?;
        // SAFETY: the string lives for the call.
        match LoadResult::from_c(unsafe { sys::weft_handler_load(path.as_ptr()) }) {
            Some(LoadResult::Loaded) => {}
            Some(LoadResult::Failed) => return Err(EngineError::Boot),
            Some(LoadResult::NotCallable) | None => return Err(EngineError::NotCallable),
        }
        // SAFETY: begin() has run, and no coroutine yet.
        unsafe { sys::weft_isolate_start() };
        Ok(())
    }

    /// Sets what the next [`crate::JobKind::Script`] job runs.
    ///
    /// # Errors
    /// [`EngineError::Nul`].
    pub fn prepare_script(&self, script: &Script) -> Result<(), EngineError> {
        let (kind, source) = match script {
            Script::File(path) => (ScriptKind::File, path.as_str()),
            Script::Code(code) => (ScriptKind::Code, code.as_str()),
            Script::Lint(path) => (ScriptKind::Lint, path.as_str()),
            Script::Info => (ScriptKind::Info, ""),
            Script::Modules => (ScriptKind::Modules, ""),
        };
        // SAFETY: the source is leaked on purpose: C keeps the pointer until the process ends.
        unsafe { sys::weft_script_prepare(kind as u32, c_string(source)?.into_raw()) };
        Ok(())
    }

    /// Starts the tasks that the application's boot has requested. Call it once the runtime exists.
    pub fn start_tasks(&self) {
        // SAFETY: the engine runs; tasks are only handed to the scheduler.
        unsafe { sys::weft_tasks_start() };
    }

    /// Interrupts all tasks, once, with a reason they can read in their exception.
    ///
    /// # Errors
    /// [`EngineError::Nul`].
    pub fn cancel_tasks(reason: &str) -> Result<(), EngineError> {
        let reason = c_string(reason)?;
        // SAFETY: called from the loop, on the engine's thread; the string lives for the call.
        unsafe { sys::weft_tasks_cancel(reason.as_ptr()) };
        Ok(())
    }

    /// Fails a task that the scheduler could not start. `argument` is the one of its [`crate::JobKind::Task`]
    /// job.
    pub fn abandon_task(argument: u64) {
        // SAFETY: the argument is that of a job which has not run and never will.
        unsafe { sys::weft_task_abandon(argument) };
    }

    /// "task 7, started at app.php:12": the task of a live [`crate::JobKind::Task`] job.
    pub fn describe_task(argument: u64) -> String {
        // SAFETY: the argument is that of a live job; the buffer has `size` bytes.
        read(|buffer, size| unsafe { sys::weft_task_describe(argument, buffer, size) })
    }

    /// Nothing is left that could wake a coroutine of this script: reports it, and throws in {main}. Returns false if a
    /// coroutine waits for something outside PHP.
    pub fn deadlock() -> bool {
        // SAFETY: called from the loop, on the engine's thread, while the script's job lives.
        unsafe { sys::weft_deadlock() }
    }

    /// The exit status of the script, once its job has ended.
    pub fn script_status(&self) -> u8 {
        // SAFETY: reads an int.
        unsafe { sys::weft_script_status() as u8 }
    }

    /// Ends the request: the application's shutdown functions and destructors run.
    pub fn end(&self) {
        // SAFETY: no coroutine runs; the scheduler has returned.
        unsafe { sys::weft_engine_end() };
    }

    /// Lets the worker scripts of resident mode run to their ends, if there are any.
    pub fn end_resident() {
        // SAFETY: called from the loop's stack when the scheduler has returned; no coroutine runs.
        unsafe { sys::weft_resident_end() };
    }

    /// Loads the worker script of each of these pools once, without a server; returns whether it asks for a request. The
    /// engine MUST have been started for one instance, and be in no request.
    pub fn try_residents(&self, pools: &[u32], stack_bytes: usize) -> Vec<bool> {
        crate::native::start(stack_bytes);
        // SAFETY: the engine runs, on this thread, with no scheduler, so waits block.
        pools.iter().map(|pool| unsafe { sys::weft_resident_try(*pool) }).collect()
    }

    /// Ends the request in a child that the script has forked, and returns the script's exit status.
    pub fn end_child() -> u8 {
        // SAFETY: called when the script has ended, on the one thread of the child; the engine runs, or there were no
        // script.
        unsafe {
            sys::weft_engine_end();
            sys::weft_script_status() as u8
        }
    }

    /// The value of the last `exit()`: the status of a child that a handler has forked.
    pub fn exit_status() -> u8 {
        // SAFETY: reads an int.
        unsafe { sys::weft_engine_exit_status() as u8 }
    }

    /// The value of an ini setting; empty if it has none.
    pub fn ini(&self, name: &str) -> String {
        let Ok(name) = c_string(name) else { return String::new() };
        read(|buffer, size| {
            // SAFETY: the buffer has `size` bytes; the name lives for the call.
            unsafe { sys::weft_engine_ini(name.as_ptr(), buffer, size) }
        })
    }

    /// Whether there is an ini setting of this name.
    pub fn has_ini(&self, name: &str) -> bool {
        // SAFETY: the name lives for the call.
        c_string(name).is_ok_and(|name| unsafe { sys::weft_engine_has_ini(name.as_ptr()) })
    }

    /// The loaded extensions.
    pub fn extensions(&self) -> Vec<String> {
        // SAFETY: the buffer has `size` bytes.
        let list = read(|buffer, size| unsafe { sys::weft_engine_extensions(buffer, size) });
        list.lines().map(str::to_owned).collect()
    }

    /// The loaded extensions that keep state of requests in a form that is not known. Coroutine mode only: elsewhere
    /// nobody looks.
    pub fn unknown_layouts(&self) -> Vec<String> {
        // SAFETY: the buffer has `size` bytes.
        let list = read(|buffer, size| unsafe { sys::weft_unknown_extensions(buffer, size) });
        list.lines().map(str::to_owned).collect()
    }

    /// Why a loaded extension cannot be in PHP instances, as far as that is known without running it.
    pub fn unfit_for_instances(&self, extension: &str) -> Option<String> {
        let name = c_string(extension).ok()?;
        // SAFETY: the buffer has `size` bytes; the name lives for the call.
        let why = read(|buffer, size| unsafe { sys::weft_extension_unfit(name.as_ptr(), buffer, size) });
        (!why.is_empty()).then_some(why)
    }

    /// The file of a loaded extension; `None` if it is a part of libphp, or of weft.
    pub fn extension_file(&self, extension: &str) -> Option<PathBuf> {
        let name = c_string(extension).ok()?;
        // SAFETY: the buffer has `size` bytes; the name lives for the call.
        let file = read(|buffer, size| unsafe { sys::weft_extension_file(name.as_ptr(), buffer, size) });
        (!file.is_empty()).then(|| PathBuf::from(file))
    }

    /// Bytes of the system's memory that PHP's memory manager holds.
    pub fn memory_bytes() -> usize {
        // SAFETY: reads the heap's counters.
        unsafe { sys::weft_engine_memory() }
    }
}

fn read(fill: impl FnOnce(*mut c_char, usize) -> usize) -> String {
    let mut buffer = vec![0u8; 8192];
    let length = fill(buffer.as_mut_ptr().cast(), buffer.len()).min(buffer.len() - 1);
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

/// A word that the workers share: created before fork, never freed.
fn shared_word() -> *mut u32 {
    // SAFETY: a new anonymous mapping; failure is the constant MAP_FAILED.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<u32>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(page, libc::MAP_FAILED, "no memory for one shared page");
    page.cast()
}
