//! docs/internals/globals.md has a verdict for every field of every structure of globals, and none for a field that
//! does not exist.
//!
//! The fields come from the debug information that gcc makes of PHP's installed headers (and of the layouts that weft
//! copies), read by readelf. A program that loads the modules reports which of them have globals, and how large they
//! are.

mod debug_info;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use weft_tests::php;

use crate::markdown::root;

type Fields = BTreeMap<String, BTreeSet<String>>;

const VERDICTS: [&str; 7] = ["copied", "row", "fiber", "setting", "own", "shared", "harmless"];

/// The output of a command.
fn said_by(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn compiled(directory: &Path) -> PathBuf {
    let program = directory.join("structures");
    let libxml = said_by(Command::new("pkg-config").args(["--cflags", "libxml-2.0"]));
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-D_GNU_SOURCE", "-w"]).args(php::config("--includes").split_whitespace());
    gcc.args(libxml.split_whitespace());
    gcc.arg("-I").arg(root().join("crates/zend/c")).arg(root().join("tests/docs/globals/structures.c"));
    let library = php::library();
    gcc.arg("-o").arg(&program).arg(&library);
    gcc.arg(format!("-Wl,-rpath,{}", library.parent().expect("it has a directory").display()));
    said_by(&mut gcc);
    program
}

/// A table of the page: the cells of its rows.
fn rows(lines: &str) -> impl Iterator<Item = Vec<&str>> {
    let is_row = |line: &&str| {
        line.starts_with("| ") && !line.starts_with("| fields") && !line.starts_with("| struct")
    };
    lines.lines().filter(is_row).map(|line| line.split('|').map(str::trim).skip(1).collect())
}

/// A version's numbers, by which it is compared.
fn number(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|part| part.parse().ok()).collect()
}

/// The names in a cell that are for this version of PHP: "one, two (>= 8.4), three (< 8.4), four (8.4)".
fn names(cell: &str) -> impl Iterator<Item = String> {
    let this = number(&php::version());
    cell.split(", ").filter_map(move |item| {
        let (name, versions) = item.split_once(" (").unwrap_or((item, ""));
        let is_for = match versions.trim_end_matches(')').split_once(' ') {
            Some(("<", bound)) => this < number(bound),
            Some((">=", bound)) => this >= number(bound),
            _ => versions.is_empty() || this == number(versions.trim_end_matches(')')),
        };
        is_for.then(|| name.trim_matches('`').to_owned())
    })
}

/// Verdicts of the page by structure and field.
fn verdicts(page: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for section in page.split("\n### ").skip(1) {
        let (structure, text) = section.split_once('\n').expect("a section has lines");
        let text = text.split("\n## ").next().unwrap_or_default();
        let Some(structure) = names(structure).next() else { continue };
        let fields: &mut BTreeMap<String, String> = found.entry(structure.clone()).or_default();
        for row in rows(text) {
            assert!(VERDICTS.contains(&row[1]), "{structure}: \"{}\" is no verdict", row[1]);
            assert!(
                row[2].len() > 3 || matches!(row[1], "copied" | "row" | "setting"),
                "{structure}: say why: {row:?}"
            );
            for name in names(row[0]) {
                let before = fields.insert(name.clone(), row[1].to_owned());
                assert!(before.is_none(), "{structure}: {name} has two verdicts");
            }
        }
    }
    found
}

/// The header that a structure's section names.
fn header<'a>(page: &'a str, structure: &str) -> Option<&'a str> {
    let section = page.split("\n### ").find(|section| section.lines().next() == Some(structure))?;
    section.lines().find_map(|line| line.strip_prefix("Header: "))
}

#[test]
fn every_field_of_every_structure_of_globals_has_a_verdict() {
    let directory = tempfile::tempdir().expect("a directory");
    let fields: Fields = debug_info::fields(&compiled(directory.path()), "walk_");
    let page = std::fs::read_to_string(root().join("docs/internals/globals.md")).expect("the page");
    let verdicts = verdicts(&page);
    let mut wrong = Vec::new();
    for (structure, fields) in &fields {
        let known = verdicts.get(structure).map(|known| known.keys().cloned().collect()).unwrap_or_default();
        let missing: Vec<&String> = fields.difference(&known).collect();
        let gone: Vec<&String> = known.difference(fields).collect();
        if !missing.is_empty() || !gone.is_empty() {
            wrong.push(format!("{structure}: no verdict for {missing:?}; no such field: {gone:?}"));
        }
    }
    // No package has these headers for every version of PHP.
    let include = PathBuf::from(php::config("--include-dir"));
    let has_header = |name: &str| header(&page, name).is_none_or(|header| include.join(header).exists());
    wrong.extend(
        verdicts
            .keys()
            .filter(|name| !fields.contains_key(*name) && has_header(name))
            .map(|name| format!("no structure {name}")),
    );
    assert!(fields.len() > 40, "{}", fields.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The macro through which PHP reaches a structure of which coroutines copy parts.
const REACHED_BY: [(&str, &str); 7] = [
    ("zend_executor_globals", "EG"),
    ("zend_compiler_globals", "CG"),
    ("php_basic_globals", "BG"),
    ("php_core_globals", "PG"),
    ("sapi_globals_struct", "SG"),
    ("php_file_globals", "FG"),
    ("zend_json_globals", "JSON_G"),
];

/// The lines that the preprocessor leaves for this version of PHP. Other conditions than those of a version hold.
fn of_this_version(source: &str) -> impl Iterator<Item = &str> {
    let this = number(&php::version());
    let this = this[0] * 10_000 + this[1] * 100;
    let mut conditions: Vec<bool> = Vec::new();
    source.lines().filter(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["#if", "PHP_VERSION_ID", sign, bound] => {
                let bound: u32 = bound.parse().expect("a version");
                conditions.push(if sign == ">=" { this >= bound } else { this < bound });
            }
            ["#if" | "#ifndef" | "#ifdef", ..] => conditions.push(true),
            ["#else"] => {
                let holds = conditions.last_mut().expect("an #if");
                *holds = !*holds;
            }
            ["#endif"] => drop(conditions.pop()),
            _ => return conditions.iter().all(|holds| *holds),
        }
        false
    })
}

#[test]
fn what_is_copied_is_what_the_table_copies() {
    let page = std::fs::read_to_string(root().join("docs/internals/globals.md")).expect("the page");
    let table = std::fs::read_to_string(root().join("crates/zend/c/owned.h")).expect("the table");
    let by_version =
        std::fs::read_to_string(root().join("crates/zend/c/php/owned.h")).expect("the other table");
    let in_table: BTreeSet<String> = of_this_version(&table)
        .chain(of_this_version(&by_version))
        .filter_map(|line| line.trim().strip_prefix("OWN(")?.split_once(", ")?.1.rsplit_once(')'))
        .map(|(global, _)| {
            global.trim_end_matches(')').to_owned() + if global.contains('(') { ")" } else { "" }
        })
        .filter(|global| global != "output_globals")
        .collect();
    let in_page: BTreeSet<String> = verdicts(&page)
        .iter()
        .flat_map(|(structure, fields)| {
            fields.iter().map(move |(field, verdict)| (structure, field, verdict))
        })
        .filter(|(structure, _, verdict)| *verdict == "copied" && *structure != "zend_output_globals")
        .map(|(structure, field, _)| {
            let macros = REACHED_BY.iter().find(|(name, _)| name == structure);
            format!("{}({field})", macros.unwrap_or_else(|| panic!("nothing of {structure} is copied")).1)
        })
        .collect();
    assert!(in_table.len() > 40, "{in_table:?}");
    assert_eq!(in_page, in_table);
}

#[test]
fn every_module_with_globals_is_known() {
    let directory = tempfile::tempdir().expect("a directory");
    let said = said_by(&mut Command::new(compiled(directory.path())));
    let page = std::fs::read_to_string(root().join("docs/internals/globals.md")).expect("the page");
    let by_size = page.split("\n## Known by their size alone").nth(1).expect("the section");
    let by_size = by_size.split("\n## ").next().unwrap_or_default();
    let mut known: BTreeSet<(&str, &str)> = rows(by_size).map(|row| (row[0], row[1])).collect();
    let mut modules: Vec<(String, &str)> = Vec::new();
    for line in said.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["structure", _, bytes, module] => drop(known.insert((module, bytes))),
            ["module", ref name @ .., bytes] if bytes != "0" => modules.push((name.join(" "), bytes)),
            _ => {}
        }
    }
    assert!(modules.len() > 10, "{said}");
    let unknown: Vec<_> =
        modules.iter().filter(|(name, bytes)| !known.contains(&(name.as_str(), *bytes))).collect();
    assert!(
        unknown.is_empty(),
        "docs/internals/globals.md does not know them, or not of that size: {unknown:?}"
    );
}

/// The variables of libphp that other libraries can see have a name; in a stripped library, its other variables
/// have none.
#[test]
fn every_structure_that_libphp_exports_is_known() {
    let symbols = said_by(Command::new("readelf").args(["--dyn-syms", "--wide"]).arg(php::library()));
    let page = std::fs::read_to_string(root().join("docs/internals/globals.md")).expect("the page");
    let statics = page.split("\n## Statics").nth(1).expect("the section");
    let exported: Vec<&str> = symbols
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.len() > 7 && words[3] == "OBJECT" && words[6] != "UND")
        .filter_map(|words| words[7].split('@').next().filter(|name| name.ends_with("_globals")))
        .collect();
    assert!(exported.len() > 10, "{exported:?}");
    let unknown: Vec<_> = exported.iter().filter(|name| !statics.contains(*name)).collect();
    assert!(unknown.is_empty(), "no verdict in docs/internals/globals.md: {unknown:?}");
}
