//! How many PHP files the application has, and of how many bytes.
//!
//! Must not know what is in them, nor opcache. Invariant: the count is bounded in entries and depth, and links are not followed, so
//! that it ends whatever lies below a document root.

use std::path::{Path, PathBuf};

use super::plan::Plan;
use super::tree::Tree;

/// Entries of directories that are looked at: an application with its libraries has some ten thousand.
const ENTRIES_MAX: usize = 200_000;
/// Levels below the application's directory.
const DEPTH_MAX: usize = 32;
/// Directories without code that runs: version control, and modules for browsers.
const SKIPPED: [&str; 3] = [".git", ".svn", "node_modules"];

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scripts {
    /// Files whose names end with `.php`.
    pub files: u64,
    /// Their bytes together.
    pub bytes: u64,
    /// Whether there may be more than were counted.
    pub is_cut: bool,
}

/// Those of the plan's applications; `None` if no application is known, or it has none.
pub fn count(tree: &Tree, plan: &Plan) -> Option<Scripts> {
    let mut waiting: Vec<(PathBuf, usize)> =
        plan.code.iter().map(|path| (tree.path(&path.to_string_lossy()), 0)).collect();
    let mut found = Scripts::default();
    let mut entries = 0;
    while let Some((directory, depth)) = waiting.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            entries += 1;
            if entries > ENTRIES_MAX {
                found.is_cut = true;
                return Some(found);
            }
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
                if depth < DEPTH_MAX && !is_skipped(&path) {
                    waiting.push((path, depth + 1));
                }
            } else if path.extension().is_some_and(|ending| ending == "php") {
                found.files += 1;
                found.bytes += entry.metadata().map_or(0, |file| file.len());
            }
        }
    }
    (found.files > 0).then_some(found)
}

fn is_skipped(path: &Path) -> bool {
    path.file_name().is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped))
}
