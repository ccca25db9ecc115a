//! The numbers that Rust and C share are in one table, `crates/zend/src/abi.rs`, and nowhere else.
//!
//! The C compiler refuses a second enumerator of the same name; this test finds what the compiler would accept.

use std::collections::BTreeSet;

use crate::files::{read, root, with_ending};

const TABLE: &str = "crates/zend/src/abi.rs";
/// The output of `crates/zend/build.rs`.
const MADE: &str = "crates/zend/c/weft_abi.h";

/// The code of a line of Rust or C, without its comment.
fn code(line: &str) -> &str {
    let line = line.split("//").next().unwrap_or_default();
    line.split("/*").next().unwrap_or_default()
}

/// Names with their own number in Rust source: `const NAME: u32 = 7`.
fn constants(text: &str) -> BTreeSet<String> {
    let named = text.lines().filter_map(|line| code(line).split_once("const ")?.1.split_once(':'));
    named.map(|(name, _)| name.to_owned()).collect()
}

/// Macros with a value in C source, without the prefix of all our names.
fn macros(text: &str) -> BTreeSet<String> {
    let defined = text.lines().filter_map(|line| {
        let mut words = line.strip_prefix("#define ")?.split_whitespace();
        let name = words.next()?;
        words.next().map(|_| name.strip_prefix("WEFT_").unwrap_or(name).to_owned())
    });
    defined.collect()
}

#[test]
fn no_number_is_written_in_rust_and_in_c() {
    let in_rust: BTreeSet<String> =
        with_ending("crates/zend/src", &[".rs"]).iter().flat_map(|path| constants(&read(path))).collect();
    let in_c: BTreeSet<String> = with_ending("crates/zend/c", &[".c", ".h"])
        .iter()
        .filter(|path| **path != root().join(MADE))
        .flat_map(|path| macros(&read(path)))
        .collect();
    assert!(in_rust.contains("HEADERS_MAX"), "constants are found no more");
    let both: Vec<_> = in_rust.intersection(&in_c).collect();
    assert!(both.is_empty(), "in Rust and in C; {TABLE} is the place for these: {both:?}");
}

#[test]
fn enums_that_c_knows_are_in_the_table() {
    for path in with_ending("crates/zend/src", &[".rs"]) {
        if path != root().join(TABLE) {
            assert!(!read(&path).contains("#[repr(u32)]"), "{} has an enum of its own for C", path.display());
        }
    }
}

#[test]
fn no_kind_of_job_is_written_as_a_number() {
    for directory in ["crates/weft/src", "crates/zend/src", "crates/zend/tests", "crates/zend/examples"] {
        for path in with_ending(directory, &[".rs"]) {
            for line in read(&path).lines() {
                let spelled = code(line).split("kind").skip(1).any(|after| {
                    let after = after.trim_start_matches([':', '=', '!', ' ']);
                    after.starts_with(|first: char| first.is_ascii_digit())
                });
                assert!(!spelled, "{} spells a kind as a number: {line}", path.display());
            }
        }
    }
    for path in with_ending("crates/zend/c", &[".c"]) {
        for line in read(&path).lines() {
            let mut compared = code(line).split("->job ").skip(1);
            let spelled = compared.any(|after| {
                after.trim_start_matches(['=', '!', ' ']).starts_with(|first: char| first.is_ascii_digit())
            });
            assert!(!spelled, "{} spells a kind as a number: {line}", path.display());
        }
    }
}
