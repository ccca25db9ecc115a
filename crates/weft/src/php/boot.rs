//! An application's life in a worker, from its boot to its end; and the same tried out by `weft check`.
//!
//! Must not know requests. Invariant: an application that was booted is ended once, so its shutdown functions run once.

use std::cell::Cell;
use std::path::Path;

use weft_zend::{Engine, FiberSwitch};

use super::engine::{engine_start, engine_start_alone, ini, with_engine};
use super::instances::{self, Booted};
use super::serve::host;
use super::site_settings::Trial;
use super::{boot_host, services, stacks};
use crate::classic::{Docroot, Sites};
use crate::config::pools::Pool;
use crate::config::{Config, Mode, Site};

thread_local! {
    static BOOTED: Cell<bool> = const { Cell::new(false) };
}

/// Prepares the worker to run user code: in coroutine mode the application boots here, in classic mode each request has
/// its own script. Returns the switch for its coroutines.
///
/// # Errors
/// A message for the operator; PHP's own message is in the error log.
pub fn boot(config: &Config) -> Result<Booted, String> {
    if Mode::of(config).is_one_at_a_time() {
        weft_zend::host::install(&boot_host::Boot);
        return instances::boot(config);
    }
    boot_application(application_of(config)?)?;
    Ok(Booted { switch: Box::new(FiberSwitch::pooled(stacks::bytes(&config.limits))), instances: None })
}

/// What there is to serve where there are no sites.
fn application_of(config: &Config) -> Result<&Path, String> {
    let application = config.server.application.as_deref();
    application
        .ok_or_else(|| "no application: name the PHP script that returns it, as in weft serve app.php".into())
}

fn boot_application(application: &Path) -> Result<(), String> {
    if host().is_none() && !weft_zend::host::installed() {
        weft_zend::host::install(&boot_host::Boot);
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

/// Tells from the files how the application or the sites would be served.
///
/// # Errors
/// Why they would not.
pub fn check_application(config: &Config) -> Result<String, String> {
    if !config.sites.is_empty() {
        let sites = Sites::open(config).map_err(|mistakes| mistakes.join("\nweft: "))?;
        return Ok(format!("{} sites", sites.iter().count()));
    }
    let application = application_of(config)?;
    if let Some(files) = &config.server.files {
        Docroot::of_files(files, config)?;
    }
    let found =
        std::fs::metadata(application).map_err(|error| format!("{}: {error}", application.display()))?;
    if Mode::of(config).is_one_at_a_time() {
        let sites = Sites::open(config).map_err(|mistakes| mistakes.join("\nweft: "))?;
        return Ok(sites.get(0).map_or_else(String::new, |served| served.docroot.describe()));
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
    let sites = Mode::of(config).is_one_at_a_time().then(|| Sites::open(config).ok()).flatten();
    let warnings = sites.iter().flat_map(Sites::iter).flat_map(|served| {
        let place = served.site.as_ref().map_or_else(String::new, |site| format!("{}: ", site.place));
        served.docroot.warnings().into_iter().map(move |line| format!("{place}{line}"))
    });
    warnings.chain(shared_by_sites(config)).collect()
}

/// What the sites share although their requests are kept apart, one line each. PHP has been started.
fn shared_by_sites(config: &Config) -> Vec<String> {
    let mut lines = Vec::new();
    if config.sites.len() < 2 {
        return lines;
    }
    let of_php = ini("session.save_path");
    let mut places: Vec<&str> =
        config.sites.iter().map(|site| value(site, "session.save_path", &of_php)).collect();
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0] == pair[1]) {
        lines.push(
            "sites keep their sessions at the same place, so that the id of one's session is good for the others: give each a \
             session.save_path in its [site.ini]"
                .into(),
        );
    }
    if with_engine(|engine| engine.has_ini("apc.enabled")) == Some(true)
        && !matches!(&*ini("apc.enabled"), "" | "0")
    {
        lines.push(
            "the extension apcu has one memory for all sites: each reads and changes what others have stored; turn it off \
             (apc.enabled = 0 in [php.ini]) unless the sites trust each other and their keys differ"
                .into(),
        );
    }
    lines
}

/// The value of a PHP setting for a site.
fn value<'a>(site: &'a Site, name: &str, of_php: &'a str) -> &'a str {
    let rows = site.ini.iter().chain(&site.admin_ini);
    rows.rev().find(|(own, _)| own == name).map_or(of_php, |(_, value)| value)
}

/// Checks that PHP has the settings that sites change. PHP has been started.
///
/// # Errors
/// One line for each that it does not have.
pub fn check_settings(config: &Config) -> Result<(), String> {
    let rows = config
        .sites
        .iter()
        .flat_map(|site| site.ini.iter().chain(&site.admin_ini).map(move |(name, _)| (&site.place, name)));
    let unknown = rows.filter(|(_, name)| with_engine(|engine| engine.has_ini(name)) == Some(false));
    let lines: Vec<String> =
        unknown.map(|(place, name)| format!("{place}: ini: PHP has no setting {name}")).collect();
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\nweft: ")) }
}

/// Boots the application in this process, as a worker would, and ends it again. `drop_rights` is called where a worker
/// drops the master's privileges: PHP has started, and no code of the application has run.
///
/// # Errors
/// Why a worker could not; PHP's own message is on standard error.
pub fn try_application(
    config: &Config,
    drop_rights: impl FnOnce() -> Result<(), String>,
) -> Result<String, String> {
    check_application(config)?;
    weft_zend::host::install(Box::leak(Box::new(Trial { sites: config.sites.clone() })));
    let pools = config.pools();
    let info = if pools.is_empty() { engine_start(config)? } else { engine_start_alone(config)? };
    check_settings(config)?;
    drop_rights()?;
    // Once more, with the privileges of the workers that will serve it.
    let said = check_application(config)?;
    let version = info.php_version;
    if !pools.is_empty() {
        try_residents(config, &pools)?;
        let what = if config.sites.is_empty() { "it loads" } else { "their applications load" };
        return Ok(format!("{said}; {what} on PHP {version}"));
    }
    if Mode::of(config).is_one_at_a_time() {
        return Ok(format!("{said}; PHP {version}"));
    }
    boot_application(application_of(config)?)?;
    services::check(config)?;
    end();
    Ok(format!("{said}; it boots on PHP {version}"))
}

/// Loads each worker script in this process, up to its first request.
fn try_residents(config: &Config, pools: &[Pool<'_>]) -> Result<(), String> {
    let numbers: Vec<u32> = pools.iter().map(|pool| pool.number).collect();
    let here = std::env::current_dir().map_err(|error| format!("the current directory: {error}"))?;
    let asked =
        with_engine(|engine| engine.try_residents(&numbers, instances::STACK_BYTES)).unwrap_or_default();
    // Each script has entered its own, and what the configuration names may be relative.
    std::env::set_current_dir(&here).map_err(|error| format!("{}: {error}", here.display()))?;
    let wrong = pools.iter().enumerate().filter(|(at, _)| asked.get(*at) != Some(&true));
    let lines: Vec<String> = wrong
        .map(|(_, pool)| {
            let site = pool.site.and_then(|site| config.sites.get(site));
            let place = site.map_or_else(String::new, |site| format!("{}: ", site.place));
            format!(
                "{place}{}: it did not ask for a request; it must call frankenphp_handle_request() in a loop, or return a \
                 handler. PHP's own message, if there is one, is above",
                pool.script.display()
            )
        })
        .collect();
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\nweft: ")) }
}
