//! docs/internals/isolation.md has a row for every extension that is loaded here.

use std::collections::HashSet;

use weft_tests::Server;

#[test]
fn every_loaded_extension_was_looked_at() {
    let page = include_str!("../../docs/internals/isolation.md");
    let rows: HashSet<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("| extension |"))
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| line.split('|').nth(1))
        .map(str::trim)
        .collect();
    let server = Server::new("return fn () => implode(' | ', get_loaded_extensions());").start();
    let loaded = server.get("/").text();
    let missing: Vec<&str> = loaded.split(" | ").filter(|name| !rows.contains(name)).collect();
    assert!(missing.is_empty(), "no row in docs/internals/isolation.md: {missing:?}");
}
