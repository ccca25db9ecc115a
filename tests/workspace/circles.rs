//! The files of a crate, and the C files, use each other in one direction, except for the circles in `accepted.rs`.
//! ARCHITECTURE.md names these, too.
//!
//! `graph/rust.rs` and `graph/c.rs` say what counts as a use. To see all circles:
//! `cargo test -p weft-tests --test workspace circles -- --nocapture`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::accepted::{ACCEPTED, Circle};
use crate::files::{read, root, with_ending};
use crate::graph::{Graph, c, circles, rust};

/// The heading of ARCHITECTURE.md under which each accepted circle has a row.
const HEADING: &str = "## Circles";

fn relative(path: &Path) -> PathBuf {
    path.strip_prefix(root()).unwrap_or(path).to_path_buf()
}

/// A circle that was found.
struct Found {
    files: BTreeSet<String>,
    /// The uses that make it one, as `from > to`.
    uses: Vec<String>,
}

fn circles_of(graph: &Graph) -> impl Iterator<Item = Found> {
    circles(graph).into_iter().map(|circle| {
        let files: BTreeSet<String> = circle.into_iter().collect();
        let from = |file: &String| graph.get(file).into_iter().flatten().filter(|to| files.contains(*to));
        let uses = files.iter().flat_map(|file| from(file).map(move |to| format!("{file} > {to}"))).collect();
        Found { files, uses }
    })
}

/// All circles of the repository, the largest of each crate first.
fn found() -> Vec<Found> {
    let mut found = Vec::new();
    let mut roots = with_ending("crates", &["lib.rs", "main.rs"]);
    roots.extend(with_ending("tests", &["lib.rs", "main.rs"]));
    roots.sort();
    for root_file in roots {
        let read = |path: &Path| std::fs::read_to_string(root().join(path)).ok();
        found.extend(circles_of(&rust::graph_of(&relative(&root_file), &read)));
    }
    let files = with_ending("crates/zend/c", &[".c", ".h"]);
    let texts = files.iter().map(|path| (relative(path), read(path))).collect();
    found.extend(circles_of(&c::graph_of(&texts)));
    found
}

#[test]
fn no_circles_but_the_accepted_ones() {
    let found = found();
    let files: usize = found.iter().map(|circle| circle.files.len()).sum();
    let largest = found.iter().map(|circle| circle.files.len()).max().unwrap_or(0);
    println!("{} circles with {files} files, the largest with {largest}", found.len());
    for circle in &found {
        println!("{} files: {:#?}", circle.files.len(), circle.uses);
    }

    let is = |circle: &Found, accepted: &Circle| {
        circle.files.iter().map(String::as_str).eq(accepted.files.iter().copied().collect::<BTreeSet<_>>())
    };
    let new: Vec<_> =
        found.iter().filter(|circle| !ACCEPTED.iter().any(|accepted| is(circle, accepted))).collect();
    let gone: Vec<_> =
        ACCEPTED.iter().filter(|accepted| !found.iter().any(|circle| is(circle, accepted))).collect();
    let new: Vec<_> = new.iter().map(|circle| (&circle.files, &circle.uses)).collect();
    let gone: Vec<_> = gone.iter().map(|circle| circle.files).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "circles that tests/workspace/accepted.rs does not have: {new:#?}\n\
         circles that it has and that no longer exist in this form: {gone:#?}"
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
