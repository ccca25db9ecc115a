//! docs/guide/install.md says of the PHP that weft runs on here what `weft version` says.

use crate::markdown::root;
use weft_tests::{php, weft};

#[test]
fn the_table_of_supported_systems_says_what_weft_says() {
    let directory = tempfile::tempdir().unwrap();
    let said = weft(directory.path(), &["version"]).stdout;
    // PHP 8.2.36 (/usr/lib/libphp8.2.so), tested in the gate, supported by PHP until 31 December 2026
    let line = said.lines().find(|line| line.starts_with("PHP ")).expect("it names its PHP");
    let mut parts = line.split(", ").skip(1);
    let tried = parts.next().expect("it says how far it was tried");
    let until = parts.next().and_then(|part| part.strip_prefix("supported by PHP until ")).unwrap_or("");
    let page = std::fs::read_to_string(root().join("docs/guide/install.md")).expect("the page");
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with('|')).map(cells).collect();
    let of_this_php: Vec<_> = rows.iter().filter(|row| row.get(2) == Some(&php::version())).collect();
    assert!(!of_this_php.is_empty(), "no row for PHP {}", php::version());
    assert!(of_this_php.iter().any(|row| row[3].starts_with(tried)), "{tried}: {of_this_php:?}");
    assert!(of_this_php.iter().all(|row| row[5] == until), "{until}: {of_this_php:?}");
}
