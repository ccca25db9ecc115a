//! The names in ARCHITECTURE.md and docs/internals: each path is in the tree, each identifier is in the code.
//!
//! A code span that is a path must exist. The words of any other span must be words of the source; of `Type::name` both
//! in one file; of "`name` in `path`" in that file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::markdown::{Document, documents, root};

/// Words of the code, file by file.
struct Source {
    files: Vec<(PathBuf, BTreeSet<String>)>,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| word.len() > 1)
}

impl Source {
    fn read() -> Source {
        let mut files = Vec::new();
        let mut waiting: Vec<PathBuf> =
            ["crates", "php", "tests", "fuzz/fuzz_targets", "deploy", "tools"].map(|d| root().join(d)).into();
        waiting.push(root().join("Cargo.toml"));
        waiting.push(root().join("Makefile"));
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).expect("a directory of the repository");
                waiting.extend(entries.map(|entry| entry.expect("an entry can be read").path()));
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files.push((path, words(&text).map(str::to_string).collect()));
            }
        }
        Source { files }
    }

    fn has(&self, word: &str) -> bool {
        self.files.iter().any(|(_, words)| words.contains(word))
    }

    fn has_together(&self, wanted: &[&str]) -> bool {
        self.files.iter().any(|(_, words)| wanted.iter().all(|word| words.contains(*word)))
    }

    fn file_has(&self, path: &Path, wanted: &[&str]) -> bool {
        let below = |file: &Path| file == path || path.is_dir() && file.starts_with(path);
        self.files.iter().any(|(file, words)| below(file) && wanted.iter().all(|word| words.contains(*word)))
    }
}

/// Directories with which a path of this repository begins; `/proc/…` or `a/b` in prose is not such a path.
fn is_path(text: &str) -> bool {
    let first = text.split('/').next().unwrap_or_default();
    let known = ["crates", "php", "tests", "fuzz", "bench", "examples", "deploy", "docs", "tools", ".ci"];
    let file = [".rs", ".c", ".h", ".md", ".toml"].iter().any(|ending| text.ends_with(ending));
    !text.contains([' ', '<']) && (text.contains('/') && known.contains(&first) || file && text.contains('/'))
}

fn check(document: &Document, source: &Source) -> Vec<String> {
    let mut wrong = Vec::new();
    let spans = document.spans();
    for (index, span) in spans.iter().enumerate() {
        let place = format!("{}:{}", document.path.display(), span.line);
        if is_path(&span.text) {
            if !root().join(&span.text).exists() {
                wrong.push(format!("{place}: no {}", span.text));
            }
            continue;
        }
        let names: Vec<&str> =
            words(&span.text).filter(|word| !word.starts_with(|c: char| c.is_ascii_digit())).collect();
        for name in &names {
            // A prefix such as `weft_host_` stands for all names that begin with it.
            let family = name.ends_with('_')
                && source.files.iter().any(|(_, w)| w.iter().any(|w| w.starts_with(name)));
            if !family && !source.has(name) {
                wrong.push(format!("{place}: {name} (in `{}`) is nowhere in the code", span.text));
            }
        }
        if span.text.contains("::") && !source.has_together(&names) {
            wrong.push(format!("{place}: no file has all of `{}`", span.text));
        }
        // "`a`, `b` in `path`": the path applies to every span before it that a comma joins.
        let mut next = index + 1;
        while spans.get(next).is_some_and(|s| s.line == span.line && s.before == ", " && !is_path(&s.text)) {
            next += 1;
        }
        let named = spans.get(next).filter(|s| s.line == span.line && s.before == " in " && is_path(&s.text));
        if let Some(file) = named
            && !source.file_has(&root().join(&file.text), &names)
        {
            wrong.push(format!("{place}: `{}` is not in {}", span.text, file.text));
        }
    }
    wrong
}

#[test]
fn every_name_in_the_architecture_and_the_internals_is_in_the_code() {
    let source = Source::read();
    let wrong: Vec<String> = documents()
        .iter()
        .filter(|document| {
            document.path == Path::new("ARCHITECTURE.md") || document.path.starts_with("docs/internals")
        })
        .flat_map(|document| check(document, &source))
        .collect();
    assert!(wrong.is_empty(), "names that the code does not have: {wrong:#?}");
}

#[test]
fn every_path_in_the_readme_of_an_example_is_in_the_tree() {
    let documents = documents();
    let examples: Vec<&Document> = documents.iter().filter(|d| d.path.starts_with("examples")).collect();
    assert!(!examples.is_empty(), "no README below examples/");
    let missing: Vec<String> = examples
        .into_iter()
        .flat_map(|document| document.spans().into_iter().map(move |span| (document, span)))
        .filter(|(_, span)| is_path(&span.text) && !root().join(&span.text).exists())
        .map(|(document, span)| format!("{}:{}: no {}", document.path.display(), span.line, span.text))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn a_wrong_name_would_be_found() {
    let source = Source::read();
    assert!(
        source.has_together(&["Runtime", "park"])
            && source.file_has(&root().join("crates/rt/src/park.rs"), &["park"])
    );
    // Assembled here, so that this file does not contain the word.
    let nowhere = ["no", "such", "name"].join("_");
    assert!(!source.has(&nowhere) && !source.file_has(&root().join("crates/rt/src/park.rs"), &["Listener"]));
    assert!(
        is_path("crates/rt/src/park.rs")
            && is_path("tests/docs")
            && !is_path("Runtime::park")
            && !is_path("text/html")
    );
}
