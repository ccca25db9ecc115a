//! Which libphp the loader has found, and whether weft can use it.
//!
//! A library of another PHP has structures of another form: using it would corrupt memory. Must not know what PHP is
//! used for. Invariant: [`check`] calls nothing of PHP, so it may come before everything else, and MUST.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::sys;

/// The PHP that this process runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedPhp {
    /// Its version, such as `8.2.36`.
    pub version: String,
    /// Its file, symbolic links resolved.
    pub file: PathBuf,
}

impl LoadedPhp {
    /// `8.2` of `8.2.36`.
    pub fn series(&self) -> &str {
        series(&self.version)
    }
}

static LOADED: OnceLock<LoadedPhp> = OnceLock::new();

/// The library that the loader has found.
///
/// # Panics
/// If [`check`] has not found it fit.
pub fn php() -> &'static LoadedPhp {
    LOADED.get().expect("the library was checked when the process started")
}

/// Compares the library with the one that weft was compiled for: the series, the build id of extensions (which names
/// the API, thread safety and debugging).
///
/// # Errors
/// One line for the operator: which library was found, which was wanted, and what to do.
pub fn check() -> Result<&'static LoadedPhp, String> {
    let mut raw = sys::LoadedPhp {
        file: [0; 4096],
        version: [0; 64],
        build: [0; 64],
        wanted_version: [0; 64],
        wanted_build: [0; 64],
    };
    // SAFETY: the structure is C's; the function only writes to it.
    unsafe { sys::weft_find_loaded_php(&raw mut raw) };
    let (version, build) = (text(&raw.version), text(&raw.build));
    let (wanted_version, wanted_build) = (text(&raw.wanted_version), text(&raw.wanted_build));
    let file = text(&raw.file);
    if build != wanted_build || series(&version) != series(&wanted_version) {
        let found = if version.is_empty() && build.is_empty() {
            "no PHP that weft recognises".to_owned()
        } else {
            format!("PHP {} ({})", or_unknown(&version), or_unknown(&build))
        };
        let series = series(&wanted_version);
        return Err(format!(
            "{file} is {found}, but this weft was built for PHP {series} ({wanted_build}): install the library of PHP \
             {series} (on Debian libphp{series}-embed) where the loader finds it first, or build weft again with this PHP"
        ));
    }
    Ok(LOADED.get_or_init(|| LoadedPhp { version, file: PathBuf::from(file) }))
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "of an unknown kind" } else { text }
}

fn series(version: &str) -> &str {
    let end = version.match_indices('.').nth(1).map_or(version.len(), |(at, _)| at);
    &version[..end]
}

fn text(bytes: &[c_char]) -> String {
    // C's char has a sign on amd64 and none on arm64.
    let bytes: Vec<u8> =
        bytes.iter().take_while(|byte| **byte != 0).flat_map(|byte| byte.to_ne_bytes()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
