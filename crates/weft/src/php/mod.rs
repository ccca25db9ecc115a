//! PHP as the master and the command line see it.
//!
//! The engine is not linked into this build: these functions say so.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

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

/// Starts the engine in the master, before the first fork.
///
/// # Errors
/// What the operator must know.
pub fn engine_start(_config: &Config) -> Result<EngineInfo, String> {
    Ok(EngineInfo {
        php_version: "not linked".into(),
        opcache: "none".into(),
        jit: "none".into(),
        extensions: vec![],
    })
}

/// Runs `weft php`.
pub fn cli_main(_arguments: Vec<OsString>) -> ExitCode {
    eprintln!("weft: PHP is not linked into this build");
    ExitCode::FAILURE
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

/// Version of the linked PHP.
pub fn version() -> &'static str {
    "not linked"
}
