//! The connection to PHP: starts the engine, checks applications, runs scripts, and answers PHP's questions to
//! the server.
//!
//! It joins weft-zend with weft-serve and must not know processes: those belong to the master.

mod delegation;
mod facts;
mod forked;
mod instances;
mod script;
mod serve;
mod server_host;
mod stacks;

use std::cell::{Cell, OnceCell};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use weft_rt::Switch;
use weft_zend::{Engine, FiberSwitch, InstanceSwitch, Options};

pub use script::Terminal;
pub use serve::{become_forked, host, start as serve, turn_away};
use weft_zend::JobKind;

use crate::classic::Docroot;
use crate::config::{Config, Environment, RunAs};
use crate::master::Mode;

/// What the started engine reports about itself.
#[derive(Debug, Clone)]
pub struct EngineInfo {
    /// For example `8.2.36`.
    pub php_version: String,
    /// State of opcache, for people.
    pub opcache: String,
    /// State of the JIT, for people.
    pub jit: String,
    /// Loaded extensions.
    pub extensions: Vec<String>,
    /// Why PHP instances are impossible here although they were requested.
    pub without_instances: Option<String>,
}

/// Ini settings that a server needs and Debian's php.ini does not have. `[php]` settings and `-d` come later and
/// override them.
const SERVER_INI: [(&str, &str); 3] =
    [("opcache.enable", "1"), ("opcache.jit_buffer_size", "64M"), ("log_errors", "1")];

/// In coroutine mode the limit applies to a process with thousands of requests, not to one request as under FPM.
const COROUTINE_INI: (&str, &str) = ("memory_limit", "1G");

thread_local! {
    static ENGINE: OnceCell<Engine> = const { OnceCell::new() };
    static BOOTED: Cell<bool> = const { Cell::new(false) };
}

/// Starts the engine in the master, before the first fork.
///
/// # Errors
/// A message for the operator.
pub fn engine_start(config: &Config) -> Result<EngineInfo, String> {
    let development = config.dev.mode == Environment::Development;
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let classic = Mode::of(config).is_one_at_a_time();
    let resident = Mode::of(config).resident_script(config).map(resident_script).transpose()?;
    let mut ini: Vec<(String, String)> = SERVER_INI.map(own).to_vec();
    if !classic {
        ini.push(own(COROUTINE_INI));
    }
    // Loops compiled by the tracing JIT may run without the VM's check for interrupts, so no time slice would end
    // there. The JIT of functions makes the check, but afterwards PHP 8.2 continues with an old value where it keeps a
    // variable in a register: a loop takes a step twice (`php` alone does that with pcntl_async_signals). So time
    // slices require code that is not compiled.
    ini.push(own(("opcache.jit", if config.dev.preempt_ms > 0 { "off" } else { "tracing" })));
    ini.push(own(("display_errors", if development { "1" } else { "0" })));
    let options = Options {
        ini: ini.into_iter().chain(config.php.ini.clone()).collect(),
        executable: executable(),
        library: Some(library().ok_or(NO_LIBRARY)?),
        development,
        resident,
        resident_requests_max: config.resident.requests_max,
        classic,
        instances: Mode::of(config).instances(config) > 1,
        ..Options::default()
    };
    let engine = Engine::start(&options).map_err(|error| error.to_string())?;
    let opcache = engine.opcache();
    let info = EngineInfo {
        php_version: weft_zend::engine::PHP_VERSION.to_owned(),
        opcache: on_off(opcache.enabled).to_owned(),
        jit: if opcache.jit { engine.ini("opcache.jit") } else { "off".to_owned() },
        extensions: engine.extensions(),
        without_instances: options.instances.then(InstanceSwitch::unfit).flatten(),
    };
    ENGINE.with(|cell| cell.set(engine).map_err(|_| "PHP has been started twice".to_owned()))?;
    Ok(info)
}

/// Whether the ended process `pid`, or an earlier one, died while it wrote to the memory that opcache shares.
pub fn memory_is_broken(pid: u32) -> bool {
    weft_rt::hook::may_be_half_written(pid)
}

/// The absolute path of a worker script.
fn resident_script(script: &Path) -> Result<String, String> {
    let path = script.canonicalize().map_err(|error| format!("{}: {error}", script.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// Asks the running engine; `None` without one.
pub fn with_engine<T>(ask: impl FnOnce(&Engine) -> T) -> Option<T> {
    ENGINE.with(|cell| cell.get().map(ask))
}

/// An ini setting of the running engine; empty without one.
pub fn ini(name: &str) -> String {
    ENGINE.with(|cell| cell.get().map_or_else(String::new, |engine| engine.ini(name)))
}

/// What a worker uses to run its jobs.
pub struct Booted {
    /// Gives coroutines the processor.
    pub switch: Box<dyn Switch>,
    /// In classic mode: how many requests can be in PHP at once.
    pub instances: Option<usize>,
}

/// Prepares the worker to run user code: in coroutine mode the application boots here, in classic mode each request has
/// its own script. Returns the switch for its coroutines.
///
/// # Errors
/// A message for the operator; PHP's own message is in the error log.
pub fn boot(config: &Config, application: &Path) -> Result<Booted, String> {
    if Mode::of(config).is_one_at_a_time() {
        weft_zend::host::install(&server_host::Boot);
        return Ok(instances::boot(config));
    }
    boot_application(application)?;
    Ok(Booted { switch: Box::new(FiberSwitch::pooled(stacks::bytes(&config.limits))), instances: None })
}

fn boot_application(application: &Path) -> Result<(), String> {
    if host().is_none() && !weft_zend::host::installed() {
        weft_zend::host::install(&server_host::Boot);
    }
    let path = application.canonicalize().map_err(|error| format!("{}: {error}", application.display()))?;
    ENGINE.with(|cell| {
        let engine = cell.get().ok_or("PHP has not been started")?;
        let failed = |error: weft_zend::EngineError| format!("{}: {error}", application.display());
        engine.begin(&[path.to_string_lossy().into_owned()]).map_err(failed)?;
        engine.load_handler(&path).map_err(failed)?;
        BOOTED.set(true);
        Ok(())
    })
}

const NO_LIBRARY: &str = "weft's PHP library was not found beside the executable: install both (make install), or keep \
                          share/weft/php beside the bin directory";

/// Starts the tasks that the application's boot has requested, once there is a runtime.
pub fn start_tasks() {
    ENGINE.with(|cell| cell.get().map(Engine::start_tasks));
}

/// Interrupts the tasks that are left when the worker ends; the drain deadline limits how long they may react.
pub fn end_tasks() {
    if let Err(error) = Engine::cancel_tasks("the worker ends") {
        tracing::error!("{error}");
    }
}

/// What a coroutine does, for reports to the operator: "GET /path", or "task 7, started at app.php:12".
pub fn describe(job: weft_rt::Job) -> String {
    if JobKind::Task.is_of(job) {
        return Engine::describe_task(job.argument);
    }
    host().map_or_else(String::new, |host| host.describe(job.argument))
}

/// Ends the application, if one was booted: its shutdown functions and destructors run.
pub fn end() {
    Engine::end_resident();
    if BOOTED.take() {
        ENGINE.with(|cell| cell.get().map(Engine::end));
    }
}

/// Why PHP wants this worker to be replaced; returned once.
pub fn replacement_wanted() -> Option<String> {
    host().and_then(server_host::ServerHost::take_replacement)
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Runs `weft php`.
pub fn cli_main(arguments: Vec<OsString>) -> ExitCode {
    script::main(arguments)
}

/// Version of the linked PHP.
pub fn version() -> &'static str {
    weft_zend::engine::PHP_VERSION
}

fn version_line(engine: &Engine) -> String {
    let loaded = engine.extensions().len();
    format!("PHP {} (weft {}), {loaded} extensions", version(), env!("CARGO_PKG_VERSION"))
}

fn executable() -> String {
    std::env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

/// One `name=value` of `-d`; a name alone means 1, as with the php command.
fn ini_setting(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    (name.to_owned(), value.to_owned())
}

/// The directory of weft's PHP library: beside the installed executable, or in the source tree in which it was
/// built.
fn library() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    let directory = executable.parent()?;
    let places = [directory.join("../share/weft/php"), directory.join("../../php")];
    places.into_iter().find(|place| place.join("autoload.php").is_file())
}

/// Tells from the file how `application` would be served.
///
/// # Errors
/// Why it would not.
pub fn check_application(config: &Config, application: &Path) -> Result<String, String> {
    let found =
        std::fs::metadata(application).map_err(|error| format!("{}: {error}", application.display()))?;
    if Mode::of(config).is_one_at_a_time() {
        return Docroot::open(application, config).map(|docroot| docroot.describe());
    }
    if found.is_dir() {
        return Err(format!(
            "{}: a directory is a document root, which runs in classic mode: leave --run-as out, or name a script that \
             returns a handler, as in weft serve app.php",
            application.display()
        ));
    }
    Ok("a script that returns its handler".to_owned())
}

/// Boots the application in this process, as a worker would, and ends it again. `drop_rights` is called where a worker
/// drops the master's privileges: PHP has started, and no code of the application has run.
///
/// # Errors
/// Why a worker could not; PHP's own message is on standard error.
pub fn try_application(
    config: &Config,
    application: &Path,
    drop_rights: impl FnOnce() -> Result<(), String>,
) -> Result<String, String> {
    check_application(config, application)?;
    weft_zend::host::install(&script::Terminal);
    let resident = Mode::of(config) == Mode::Resident;
    let info = if resident { engine_start(&alone(config))? } else { engine_start(config)? };
    drop_rights()?;
    // Once more, with the privileges of the workers that will serve it.
    let said = check_application(config, application)?;
    let version = info.php_version;
    if resident {
        return try_resident(config).map(|()| format!("{said}; it loads on PHP {version}"));
    }
    if Mode::of(config).is_one_at_a_time() {
        return Ok(format!("{said}; PHP {version}"));
    }
    boot_application(application)?;
    end();
    Ok(format!("{said}; it boots on PHP {version}"))
}

/// The configuration of one worker script that has PHP to itself.
fn alone(config: &Config) -> Config {
    let mut alone = config.clone();
    alone.server.run_as = RunAs::Resident;
    alone.classic.instances_max = 1;
    alone
}

/// Loads a worker script in this process, up to its first request.
fn try_resident(config: &Config) -> Result<(), String> {
    let asked = with_engine(|engine| engine.try_resident(instances::STACK_BYTES)).unwrap_or_default();
    let script = Mode::Resident.resident_script(config).unwrap_or(Path::new("")).display();
    let wrong = format!(
        "{script}: it did not ask for a request; it must call frankenphp_handle_request() in a loop, or return a handler. \
         PHP's own message, if there is one, is above"
    );
    if asked { Ok(()) } else { Err(wrong) }
}
