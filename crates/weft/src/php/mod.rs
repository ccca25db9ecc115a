//! The PHP face: starts the engine, checks applications, runs scripts, and answers what PHP asks of the server.
//!
//! It joins weft-zend with weft-serve and must not know processes: those are the master's.

mod script;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use weft_zend::{Engine, Options};

use crate::config::Config;

/// What the started engine says about itself.
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
}

/// Ini settings a server needs and Debian's php.ini does not have. `[php]` settings and `-d` come after, and win.
const SERVER_INI: [(&str, &str); 7] = [
    ("opcache.enable", "1"),
    ("opcache.jit", "tracing"),
    ("opcache.jit_buffer_size", "64M"),
    // The limit is one process's, which holds thousands of requests: not one request's as under FPM.
    ("memory_limit", "1G"),
    ("fiber.stack_size", "512K"),
    ("display_errors", "0"),
    ("log_errors", "1"),
];

thread_local! {
    static ENGINE: OnceCell<Engine> = const { OnceCell::new() };
}

/// Starts the engine in the master, before the first fork.
///
/// # Errors
/// What the operator must know.
pub fn engine_start(config: &Config) -> Result<EngineInfo, String> {
    let defaults = SERVER_INI.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = Options {
        ini: defaults.into_iter().chain(config.php.ini.clone()).collect(),
        executable: executable(),
        development: config.dev.mode == crate::config::Environment::Development,
        ..Options::default()
    };
    let engine = Engine::start(&options).map_err(|error| error.to_string())?;
    let opcache = engine.opcache();
    let info = EngineInfo {
        php_version: weft_zend::engine::PHP_VERSION.to_owned(),
        opcache: on_off(opcache.enabled).to_owned(),
        jit: if opcache.jit { engine.ini("opcache.jit") } else { "off".to_owned() },
        extensions: engine.extensions(),
    };
    ENGINE.with(|cell| cell.set(engine).map_err(|_| "PHP has been started twice".to_owned()))?;
    Ok(info)
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

/// The directory of weft's PHP library: `WEFT_LIBRARY`, or beside the executable as installed, or in the source tree that
/// the executable was built in.
fn library() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("WEFT_LIBRARY") {
        return Some(PathBuf::from(path));
    }
    let executable = std::env::current_exe().ok()?;
    let directory = executable.parent()?;
    let places = [directory.join("../share/weft/php"), directory.join("../../php")];
    places.into_iter().find(|place| place.join("autoload.php").is_file())
}

/// Says what `application` would be served as.
///
/// # Errors
/// Why it would not.
pub fn check_application(application: &Path) -> Result<String, String> {
    match std::fs::metadata(application) {
        Ok(found) if found.is_dir() => Ok("a document root".into()),
        Ok(_) => Ok("a script".into()),
        Err(error) => Err(format!("{}: {error}", application.display())),
    }
}
