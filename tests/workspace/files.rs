//! Access to the repository's files, and the limit on their length.

use std::path::{Path, PathBuf};

/// The maximum length of a source file, in lines.
const LINES_MAX: usize = 500;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the repository").to_path_buf()
}

/// All files below a directory of the repository with one of these name endings.
pub fn with_ending(directory: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root().join(directory)];
    while let Some(path) = waiting.pop() {
        let entries = std::fs::read_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && name != "node_modules" && name != "vendor" {
                    waiting.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no {endings:?} below {directory}");
    found
}

/// The text of a file.
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn no_source_file_is_too_long() {
    let mut long = Vec::new();
    for directory in ["crates", "tests", "php"] {
        for path in with_ending(directory, &[".rs", ".c", ".h", ".php"]) {
            let lines = read(&path).lines().count();
            // Nobody reads what php/stubs/generate.php makes.
            let is_generated = path.ends_with("crates/zend/c/weft_arginfo.h");
            if lines > LINES_MAX && !is_generated {
                long.push(format!("{}: {lines} lines", path.strip_prefix(root()).unwrap_or(&path).display()));
            }
        }
    }
    assert!(long.is_empty(), "longer than {LINES_MAX} lines: {long:#?}");
}

#[test]
fn every_rust_file_opens_with_what_it_is() {
    for directory in ["crates", "tests"] {
        for path in with_ending(directory, &[".rs"]) {
            assert!(read(&path).starts_with("//! "), "{} does not open with //!", path.display());
        }
    }
}
