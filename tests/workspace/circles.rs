//! No circles among the files of a crate, or among the C files, but the accepted ones: those of `accepted.rs`, which ARCHITECTURE.md names, too.
//!
//! What counts as a use is said in `graph/rust.rs` and `graph/c.rs`. To see all circles:
//! `cargo test -p weft-tests --test workspace circles -- --nocapture`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::accepted::ACCEPTED;
use crate::files::{read, root, with_ending};
use crate::graph::{c, circles, rust};

/// The heading of ARCHITECTURE.md under which each accepted circle has a row.
const HEADING: &str = "## Circles";

fn relative(path: &Path) -> PathBuf {
    path.strip_prefix(root()).unwrap_or(path).to_path_buf()
}

/// All circles of the repository, the largest of each crate first.
fn found() -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut roots = with_ending("crates", &["lib.rs", "main.rs"]);
    roots.extend(with_ending("tests", &["lib.rs", "main.rs"]));
    roots.sort();
    for root_file in roots {
        let read = |path: &Path| std::fs::read_to_string(root().join(path)).ok();
        found.extend(circles(&rust::graph_of(&relative(&root_file), &read)));
    }
    let files = with_ending("crates/zend/c", &[".c", ".h"]);
    let texts = files.iter().map(|path| (relative(path), read(path))).collect();
    found.extend(circles(&c::graph_of(&texts, &[])));
    found
}

#[test]
fn no_circles_but_the_accepted_ones() {
    let found = found();
    let files: usize = found.iter().map(Vec::len).sum();
    let largest = found.iter().map(Vec::len).max().unwrap_or(0);
    println!("{} circles with {files} files, the largest with {largest}: {found:#?}", found.len());

    let known: Vec<BTreeSet<&str>> =
        ACCEPTED.iter().map(|circle| circle.files.iter().copied().collect()).collect();
    let present: Vec<BTreeSet<&str>> =
        found.iter().map(|circle| circle.iter().map(String::as_str).collect()).collect();
    let new: Vec<_> = present.iter().filter(|circle| !known.contains(circle)).collect();
    let gone: Vec<_> = known.iter().filter(|circle| !present.contains(circle)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "circles that tests/workspace/accepted.rs does not have: {new:#?}\ncircles that it has, and that are not so any more: {gone:#?}"
    );
}

#[test]
fn the_architecture_names_each_accepted_circle() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let section = text.split(HEADING).nth(1).expect("a section on circles");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    for circle in ACCEPTED {
        let names_all = |row: &&&str| circle.files.iter().all(|file| row.contains(&format!("`{file}`")));
        let row = rows.iter().find(names_all);
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row that names {:#?}", circle.files));
        assert!(row.contains(circle.reason), "the row has another reason than {:?}: {row}", circle.reason);
    }
    assert_eq!(rows.len(), ACCEPTED.len(), "ARCHITECTURE.md names circles that are not accepted");
}
