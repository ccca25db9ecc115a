//! PHP, started once per process: with which settings, and what it says of itself.
//!
//! Must not know what PHP will run. Invariant: there is one engine per process, started in the master before the first
//! fork.

use std::cell::OnceCell;
use std::path::PathBuf;

use weft_zend::abi::NO_SITE;
use weft_zend::{Engine, InstanceSwitch, Options, ResidentScript};

use super::isolation::Unisolated;
#[cfg(target_arch = "x86_64")]
use super::relaxed;
use crate::config::pools::Pool;
use crate::config::{Config, Environment, Mode};

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
    /// Extensions that coroutine mode cannot isolate.
    pub unisolated: Unisolated,
}

/// Ini settings that a server needs and Debian's php.ini does not have. `[php]` settings and `-d` come later and
/// override them.
const SERVER_INI: [(&str, &str); 3] =
    [("opcache.enable", "1"), ("opcache.jit_buffer_size", "64M"), ("log_errors", "1")];

/// Before PHP 8.4 a trace of the JIT that follows returns of a recursive function checks only in the first of the frames
/// whether `foreach` runs over a list or a map, and reads the arrays of the others as that kind: elements are skipped,
/// or the process dies. (`zend_jit_trace` in `ext/opcache/jit/zend_jit_trace.c` emits that check before the loop; since 8.4
/// only for the value that was returned.) Without such traces it cannot happen; other traces follow such code.
const SOUND_TRACES: (&str, &str) = ("opcache.jit_max_recursive_returns", "0");

/// In coroutine mode the limit applies to a process with thousands of requests, not to one request as under FPM.
const COROUTINE_INI: (&str, &str) = ("memory_limit", "1G");

/// With several sites no script is in this path: opcache_get_status() would list the files of all sites, and
/// opcache_reset() drop them.
const SITES_INI: (&str, &str) = ("opcache.restrict_api", "no-site");

thread_local! {
    static ENGINE: OnceCell<Engine> = const { OnceCell::new() };
}

/// Starts the engine in the master, before the first fork.
///
/// # Errors
/// A message for the operator. An extension that coroutine mode cannot isolate, and that is not accepted, is an error, too.
pub fn engine_start(config: &Config) -> Result<EngineInfo, String> {
    #[cfg(target_arch = "x86_64")]
    if config.php.relax {
        relaxed::library();
    }
    let info = engine_examine(config)?;
    info.unisolated.refuse(config)?;
    #[cfg(target_arch = "x86_64")]
    if config.php.relax {
        with_engine(relaxed::extensions);
    }
    Ok(info)
}

/// Starts the engine for scripts that are to be loaded one after another, without instances.
///
/// # Errors
/// As [`engine_start`].
pub fn engine_start_alone(config: &Config) -> Result<EngineInfo, String> {
    let info = start(config, false)?;
    info.unisolated.refuse(config)?;
    Ok(info)
}

/// Starts the engine to look at it, whatever extensions there are.
///
/// # Errors
/// A message for the operator.
pub fn engine_examine(config: &Config) -> Result<EngineInfo, String> {
    start(config, Mode::of(config).instances(config) > 1)
}

fn start(config: &Config, instances: bool) -> Result<EngineInfo, String> {
    let development = config.dev.mode == Environment::Development;
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let classic = Mode::of(config).is_one_at_a_time();
    let pools = config.pools();
    let residents = pools.iter().map(resident_script).collect::<Result<Vec<_>, String>>()?;
    let mut ini: Vec<(String, String)> = SERVER_INI.map(own).to_vec();
    if !has_sound_traces(version()) {
        ini.push(own(SOUND_TRACES));
    }
    if !classic {
        ini.push(own(COROUTINE_INI));
    }
    if config.sites.len() > 1 {
        ini.push(own(SITES_INI));
    }
    ini.push(own(("opcache.jit", "tracing")));
    ini.push(own(("display_errors", if development { "1" } else { "0" })));
    ini.extend(config.php.ini.clone());
    if Mode::of(config).preempt_ms(config) > 0 {
        super::registers::keep_out_of(&mut ini);
    }
    let options = Options {
        ini,
        executable: executable(),
        library: Some(library().ok_or(NO_LIBRARY)?),
        development,
        residents,
        sapi_name: if classic { config.classic.sapi_name.clone() } else { String::new() },
        withholds: Mode::of(config) == Mode::Classic && !config.classic.process_functions,
        classic,
        instances,
        ..Options::default()
    };
    let engine = Engine::start(&options).map_err(|error| error.to_string())?;
    let opcache = engine.opcache();
    let info = EngineInfo {
        php_version: version().to_owned(),
        opcache: on_off(opcache.enabled).to_owned(),
        jit: if opcache.jit { engine.ini("opcache.jit") } else { "off".to_owned() },
        extensions: engine.extensions(),
        without_instances: options.instances.then(InstanceSwitch::unfit).flatten(),
        unisolated: Unisolated::of(&engine, config),
    };
    ENGINE.with(|cell| cell.set(engine).map_err(|_| "PHP has been started twice".to_owned()))?;
    Ok(info)
}

/// Whether the tracing JIT of this version of PHP needs no [`SOUND_TRACES`].
fn has_sound_traces(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (8, 4)
}

/// Whether the ended process `pid`, or an earlier one, died while it wrote to the memory that opcache shares.
pub fn memory_is_broken(pid: u32) -> bool {
    weft_rt::hook::may_be_half_written(pid)
}

/// A worker script, by its absolute path.
fn resident_script(pool: &Pool<'_>) -> Result<ResidentScript, String> {
    let path = pool.script.canonicalize().map_err(|error| format!("{}: {error}", pool.script.display()))?;
    Ok(ResidentScript {
        pool: pool.number,
        site: pool.site.map_or(NO_SITE, |site| site as u32),
        path: path.to_string_lossy().into_owned(),
        requests_max: pool.requests_max,
    })
}

/// Asks the running engine; `None` without one.
pub fn with_engine<T>(ask: impl FnOnce(&Engine) -> T) -> Option<T> {
    ENGINE.with(|cell| cell.get().map(ask))
}

/// An ini setting of the running engine; empty without one.
pub fn ini(name: &str) -> String {
    ENGINE.with(|cell| cell.get().map_or_else(String::new, |engine| engine.ini(name)))
}

const NO_LIBRARY: &str = "weft's PHP library was not found beside the executable: install both (make install), or keep \
                          share/weft/php beside the bin directory";

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Version of the PHP that this process runs on.
pub fn version() -> &'static str {
    &weft_zend::loaded::php().version
}

pub(super) fn version_line(engine: &Engine) -> String {
    let loaded = engine.extensions().len();
    format!("PHP {} (weft {}), {loaded} extensions", version(), env!("CARGO_PKG_VERSION"))
}

pub(super) fn executable() -> String {
    std::env::current_exe().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

/// One `name=value` of `-d`; a name alone means 1. As with the php command (`php_ini_builder_define`), a value that
/// begins with another character than a letter, a digit or a quote is text, not an expression of php.ini.
pub(super) fn ini_setting(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'"' | b'\'');
    let plain = value.bytes().next().is_none_or(is_plain);
    (name.to_owned(), if plain { value.to_owned() } else { format!("\"{value}\"") })
}

/// The directory of weft's PHP library: beside the installed executable, or in the source tree in which it was
/// built.
pub(super) fn library() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    let directory = executable.parent()?;
    let places = [directory.join("../share/weft/php"), directory.join("../../php")];
    let place = places.into_iter().find(|place| place.join("autoload.php").is_file())?;
    // As the names of its files are in PHP: code of the library is known by them.
    place.canonicalize().ok()
}
