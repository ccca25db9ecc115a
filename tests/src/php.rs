//! The PHP that weft is built for, as `php-config` tells it. `PHP_CONFIG` names another one than the first in PATH, as
//! it does for the build.
//!
//! Must not know: what is tested with it.

use std::path::PathBuf;
use std::process::Command;

/// What `php-config` answers to an option, for example `--extension-dir`.
///
/// # Panics
/// When it cannot be run.
pub fn config(option: &str) -> String {
    let tool = std::env::var("PHP_CONFIG").unwrap_or_else(|_| "php-config".to_owned());
    let output = Command::new(&tool).arg(option).output().unwrap_or_else(|error| panic!("{tool}: {error}"));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Its major and minor version, for example `8.4`, which Debian's names of programs and packages end with.
pub fn version() -> String {
    config("--version").split('.').take(2).collect::<Vec<_>>().join(".")
}

/// The command line interpreter of that version. `php-config` says `NONE` if it was built without one.
pub fn command() -> Command {
    let said = PathBuf::from(config("--php-binary"));
    let named = PathBuf::from(config("--prefix")).join(format!("bin/php{}", version()));
    Command::new(if said.exists() { said } else { named })
}

/// The file of its library: Debian's has the version in its name, PHP's own has not.
pub fn library() -> PathBuf {
    let directory = PathBuf::from(config("--prefix")).join("lib");
    let named = directory.join(format!("libphp{}.so", version()));
    if named.exists() { named } else { directory.join("libphp.so") }
}
