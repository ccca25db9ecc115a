//! An application's life in a worker, from its boot to its end; and the same tried out by `weft check`.
//!
//! Must not know requests. Invariant: an application that was booted is ended once, so its shutdown functions run once.

use std::cell::Cell;
use std::path::Path;

use weft_zend::{Engine, FiberSwitch};

use super::engine::{engine_start, with_engine};
use super::instances::{self, Booted};
use super::script::Terminal;
use super::serve::host;
use super::{server_host, stacks};
use crate::classic::Docroot;
use crate::config::{Config, Mode, RunAs};

thread_local! {
    static BOOTED: Cell<bool> = const { Cell::new(false) };
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
    with_engine(|engine| {
        let failed = |error: weft_zend::EngineError| format!("{}: {error}", application.display());
        engine.begin(&[path.to_string_lossy().into_owned()]).map_err(failed)?;
        engine.load_handler(&path).map_err(failed)?;
        BOOTED.set(true);
        Ok(())
    })
    .unwrap_or_else(|| Err("PHP has not been started".to_owned()))
}

/// Starts the tasks that the application's boot has requested, once there is a runtime.
pub fn start_tasks() {
    with_engine(Engine::start_tasks);
}

/// Interrupts the tasks that are left when the worker ends; the drain deadline limits how long they may react.
pub fn end_tasks() {
    if let Err(error) = Engine::cancel_tasks("the worker ends") {
        tracing::error!("{error}");
    }
}

/// Ends the application, if one was booted: its shutdown functions and destructors run.
pub fn end() {
    Engine::end_resident();
    if BOOTED.take() {
        with_engine(Engine::end);
    }
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

/// What an operator should know of the application's files, one line each: directories that should be hidden, and are not.
pub fn warnings_of_application(config: &Config) -> Vec<String> {
    let application = config.server.application.as_deref().filter(|_| Mode::of(config).is_one_at_a_time());
    let docroot = application.and_then(|application| Docroot::open(application, config).ok());
    docroot.map_or_else(Vec::new, |docroot| docroot.warnings())
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
    weft_zend::host::install(&Terminal);
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
