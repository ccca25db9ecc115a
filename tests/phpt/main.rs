//! Runs every `tests/phpt/**/*.phpt` under `php` and under `weft php`.
//!
//! Must not know what a script is about. Invariant: a script passes if both commands write the same to stdout and exit
//! with the same code, and both match what the file expects.
//!
//! Sections, as in php-src's own tests: TEST, INI, ARGS, STDIN, FILE, and EXPECT or EXPECTF. Our own sections are
//! PHP (the versions that the case is for, "< 8.4" or ">= 8.4"; other versions ignore it), EXITCODE (default 0), STDERR (a
//! pattern as in EXPECTF; default anything) and WEFT-ONLY: the script uses weft's own functions, so only `weft php` can
//! run it. WEFT-ONLY's text names the functions, or is empty. With LIBRARY, stock `php` loads weft's PHP library before
//! the script, as `weft php` always does.

mod case;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("phpt");
    let mut files = Vec::new();
    find(&root, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no phpt below {}", root.display());
    let version = weft_tests::php::version();
    let trials = files.into_iter().map(|file| {
        let is_for = case::is_for(&file, &version).unwrap_or_else(|error| panic!("{error}"));
        let name = file.strip_prefix(&root).unwrap_or(&file).with_extension("");
        Trial::test(name.to_string_lossy(), move || case::run(&file).map_err(Into::into))
            .with_ignored_flag(!is_for)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn find(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).expect("a directory of this repository");
    for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "phpt") {
            files.push(path);
        }
    }
}
