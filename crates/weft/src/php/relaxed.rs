//! Which libraries' calls are made direct when a server starts, and what the log says of that.
//!
//! Must not know how that is done. Invariant: a library for which it cannot be done serves as it is, and the log says why.

use std::path::{Path, PathBuf};
use std::time::Instant;

use weft_zend::Engine;
use weft_zend::relax::{Relaxed, relax};

/// Extensions that decode protected scripts. Code that guards itself may look for changes in its own instructions.
const GUARDED: [&str; 2] = ["ionCube Loader", "SourceGuardian"];

/// Makes the calls within PHP's library direct, if that can be done here. Before PHP starts.
pub fn library() {
    let began = Instant::now();
    match relax(&weft_zend::loaded::php().file) {
        Ok(relaxed) => log(relaxed, "PHP's library", began),
        Err(why) => {
            tracing::info!("the calls within PHP's library stay indirect, which costs a few percent: {why}")
        }
    }
}

/// Does the same for the calls of loaded extensions, unless one has started a thread, which may run their code right now.
pub fn extensions(engine: &Engine) {
    if std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1) {
        return tracing::info!("the calls of extensions stay indirect: PHP has started a thread");
    }
    let began = Instant::now();
    let (mut sum, mut count) = (Relaxed::default(), 0);
    for file in files(engine) {
        match relax(&file) {
            Ok(relaxed) => {
                sum += relaxed;
                count += 1;
            }
            Err(why) => tracing::debug!("the calls of {} stay indirect: {why}", file.display()),
        }
    }
    log(sum, &format!("{count} extensions"), began);
}

/// As the kernel names them. Two extensions can be in one file.
fn files(engine: &Engine) -> Vec<PathBuf> {
    let names = engine.extensions().into_iter().filter(|name| !GUARDED.contains(&name.as_str()));
    let found = names.filter_map(|name| engine.extension_file(&name));
    let mut files: Vec<PathBuf> = found.filter_map(|file| Path::canonicalize(&file).ok()).collect();
    files.sort();
    files.dedup();
    files
}

fn log(relaxed: Relaxed, what: &str, began: Instant) {
    let (calls, loads, took) = (relaxed.calls, relaxed.loads, began.elapsed().as_millis());
    tracing::debug!("{calls} calls and {loads} loads of {what} are direct now, after {took} ms");
}
