//! The uses between C units.
//!
//! The rule: `name.c` and `name.h` beside it are one unit, like a Rust file, and the graph has them as the header. A
//! unit uses the units whose headers its files include. Headers that are not among the files (PHP's, the system's) do
//! not count. A function belongs to the unit whose header declares it, wherever it is defined.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::Graph;

/// The graph of these files, given with their texts.
pub fn graph_of(files: &BTreeMap<PathBuf, String>) -> Graph {
    let mut graph = Graph::new();
    for (path, text) in files {
        let unit = unit(files, path);
        let directory = path.parent().unwrap_or(Path::new(""));
        let included = text.lines().filter_map(included).map(|name| plain(&directory.join(name)));
        let units: BTreeSet<String> = included
            .filter(|path| files.contains_key(path))
            .map(|path| self::unit(files, &path))
            .filter(|other| *other != unit)
            .collect();
        graph.entry(unit).or_default().extend(units);
    }
    graph
}

fn unit(files: &BTreeMap<PathBuf, String>, path: &Path) -> String {
    let header = path.with_extension("h");
    let known = if files.contains_key(&header) { &header } else { path };
    known.display().to_string()
}

/// The name in `#include "name"`.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn a_header_and_its_source_are_one_unit() {
    let text = [
        ("d/a.c", "#include \"a.h\"\n#include \"e/b.h\"\n#include \"php.h\""),
        ("d/a.h", "#include <stdio.h>"),
        ("d/e/b.c", "# include \"../a.h\""),
        ("d/e/b.h", "#include \"../all.h\""),
        ("d/all.h", "#include <stddef.h>"),
    ];
    let files = text.map(|(path, text)| (PathBuf::from(path), text.to_string())).into();
    let graph = graph_of(&files);
    assert_eq!(super::circles(&graph), [["d/a.h", "d/e/b.h"]]);
    assert_eq!(graph["d/e/b.h"].len(), 2);
}
