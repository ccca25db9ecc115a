//! The uses between the repository's files, and the circles among them.
//!
//! Files are the nodes. [`rust`] and [`c`] read the uses from the source; [`circles`] finds the groups of files in which
//! each leads to every other one. It must not know which circles are accepted: that is `crate::circles`.

pub mod c;
mod module;
pub mod rust;
mod token;

use std::collections::{BTreeMap, BTreeSet};

/// The files each file uses. Paths start at the repository's root.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// The strongly connected components of more than one file, each sorted; the largest first.
pub fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|file| (file.as_str(), reachable(graph, file))).collect();
    let mut placed = BTreeSet::new();
    let mut found = Vec::new();
    for (&file, forward) in &reached {
        if placed.contains(file) || !forward.contains(file) {
            continue;
        }
        let together = |other: &&str| reached.get(*other).is_some_and(|back| back.contains(file));
        let circle: Vec<String> = forward.iter().copied().filter(together).map(str::to_string).collect();
        placed.extend(forward.iter().copied().filter(together));
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

/// All files that one file leads to; itself only if a circle leads back to it.
fn reachable<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&str> = graph.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(file) = waiting.pop() {
        if found.insert(file) {
            waiting.extend(graph.get(file).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

#[test]
fn circles_are_found() {
    let edges =
        [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "e"), ("f", "g"), ("g", "f")];
    let mut graph = Graph::new();
    for (from, to) in edges {
        graph.entry(from.to_string()).or_default().insert(to.to_string());
    }
    assert_eq!(circles(&graph), [vec!["a", "b", "c"], vec!["f", "g"]]);
}
