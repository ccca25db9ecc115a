//! docs/reference/cooperative.md: every row states how a call waits and names existing tests.
//!
//! A row is `| what | how | test |`. "how" begins with cooperative, offloaded or blocks. "test" is one code span or
//! more: a phpt, a script of tests/clients, or `file.rs::function` of a test.

use crate::markdown::{Document, root};

struct Row {
    line: usize,
    cells: Vec<String>,
}

fn rows(document: &Document) -> Vec<Row> {
    let table = document.prose().into_iter().filter(|(_, text)| text.starts_with("| "));
    let rows = table.map(|(line, text)| Row {
        line,
        // A pipe inside a cell is written as an entity, as usual in Markdown.
        cells: text.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect(),
    });
    rows.filter(|row| row.cells[0] != "what").collect()
}

/// The code spans of a cell.
fn spans(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Why a test's name is wrong, if it is.
fn objection(test: &str) -> Option<String> {
    let (path, function) = test.split_once("::").map_or((test, None), |(path, name)| (path, Some(name)));
    let Ok(text) = std::fs::read_to_string(root().join(path)) else {
        return Some(format!("no file {path}"));
    };
    match function {
        Some(name) => {
            let name = name.rsplit("::").next().unwrap_or(name);
            let is_test = text.split("#[test]").skip(1).any(|behind| {
                let head = behind.split('{').next().unwrap_or_default();
                head.contains(&format!("fn {name}("))
            });
            (!is_test).then(|| format!("{path} has no test {name}"))
        }
        None if path.ends_with(".phpt") && path.starts_with("tests/phpt/") => None,
        None if path.ends_with(".php")
            && ["tests/clients/scripts/", "tests/clients/cut/"].iter().any(|of| path.starts_with(of)) =>
        {
            None
        }
        None => Some(format!("{path} is a file, not a test: name it as file.rs::function")),
    }
}

fn objections(row: &Row) -> Vec<String> {
    let [what, how, tests] = &row.cells[..] else {
        return vec![format!("{} cells instead of 3", row.cells.len())];
    };
    let mut wrong = Vec::new();
    if what.is_empty() {
        wrong.push("it does not say what".to_string());
    }
    if !["cooperative", "offloaded", "blocks"].iter().any(|known| how.starts_with(known)) {
        wrong.push(format!("\"{how}\" does not begin with cooperative, offloaded or blocks"));
    }
    if spans(tests).is_empty() {
        wrong.push("it names no test".to_string());
    }
    wrong.extend(spans(tests).into_iter().filter_map(objection));
    wrong
}

#[test]
fn every_row_of_the_table_of_waits_names_a_test_that_exists() {
    let document = Document::read("docs/reference/cooperative.md");
    let wrong: Vec<String> = rows(&document)
        .iter()
        .flat_map(|row| objections(row).into_iter().map(|text| format!("line {}: {text}", row.line)))
        .collect();
    assert!(wrong.is_empty(), "docs/reference/cooperative.md: {wrong:#?}");
}

#[test]
fn a_wrong_row_would_be_found() {
    let row =
        |text: &str| Row { line: 1, cells: text.split('|').map(|cell| cell.trim().to_string()).collect() };
    assert!(objections(&row("`flock` | cooperative | `tests/phpt/io/flock.phpt`")).is_empty());
    let own = "tests/docs/cooperative.rs::a_wrong_row_would_be_found";
    assert!(objections(&row(&format!("x | offloaded, if slow | `{own}`"))).is_empty());
    for wrong in [
        "`flock` | cooperative | `tests/phpt/io/no-such.phpt`",
        "`flock` | perhaps | `tests/phpt/io/flock.phpt`",
        "`flock` | cooperative | by hand",
        "`flock` | cooperative | `tests/docs/cooperative.rs`",
        "`flock` | cooperative | `tests/docs/cooperative.rs::objection`",
        "`flock` | cooperative",
    ] {
        assert!(!objections(&row(wrong)).is_empty(), "{wrong}");
    }
}
