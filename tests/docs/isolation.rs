//! docs/internals/isolation.md has a row for every extension that is loaded here, and weft knows its rows.

use std::collections::HashSet;

use weft_tests::Server;

fn documented() -> HashSet<&'static str> {
    let page = include_str!("../../docs/internals/isolation.md");
    page.lines()
        .skip_while(|line| !line.starts_with("| extension |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| line.split('|').nth(1))
        .map(str::trim)
        .collect()
}

#[test]
fn weft_takes_the_same_extensions_for_reviewed() {
    let source = include_str!("../../crates/weft/src/php/isolation.rs");
    let table =
        source.split("const REVIEWED").nth(1).and_then(|rest| rest.split("];").next()).expect("the table");
    let known: HashSet<&str> = table.split('"').skip(1).step_by(2).collect();
    let (here, there): (Vec<_>, Vec<_>) = (
        known.difference(&documented()).copied().collect(),
        documented().difference(&known).copied().collect(),
    );
    assert!(
        here.is_empty() && there.is_empty(),
        "only in REVIEWED: {here:?}; only in the document: {there:?}"
    );
}

#[test]
fn every_loaded_extension_was_looked_at() {
    let rows = documented();
    let server = Server::new("return fn () => implode(' | ', get_loaded_extensions());").start();
    let loaded = server.get("/").text();
    let missing: Vec<&str> = loaded.split(" | ").filter(|name| !rows.contains(name)).collect();
    assert!(missing.is_empty(), "no row in docs/internals/isolation.md: {missing:?}");
}
