//! The table compared with the installed PHP: every function that waits and that libphp, an extension or a library
//! below them imports is hooked, or is in the list of reviewed ones with the reason why not.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use weft_rt::hook::{HookKind, NEVER_WAIT, NOT_HOOKED, Review, SYMBOLS, review};

/// Runs a tool and returns its output.
fn output(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).output();
    let output =
        output.unwrap_or_else(|error| panic!("{tool}: {error}; on Debian: apt-get install binutils php-dev"));
    String::from_utf8(output.stdout).unwrap()
}

/// libphp, the extensions, and every library below them except libc's own.
fn libraries() -> BTreeSet<String> {
    let config = std::env::var("PHP_CONFIG").unwrap_or_else(|_| "php-config".to_owned());
    let version = output(&config, &["--version"]);
    let short: Vec<_> = version.split('.').take(2).collect();
    let libphp = format!("{}/lib/libphp{}.so", output(&config, &["--prefix"]).trim(), short.join("."));
    let extensions = std::fs::read_dir(output(&config, &["--extension-dir"]).trim()).unwrap();
    let mut libraries: BTreeSet<String> = extensions
        .map(|entry| entry.unwrap().path().display().to_string())
        .filter(|path| path.ends_with(".so"))
        .collect();
    libraries.insert(libphp);
    let direct: Vec<_> = libraries.iter().map(String::as_str).collect();
    let below = output("ldd", &direct);
    let below = below.lines().filter_map(|line| line.split("=> ").nth(1)?.split_whitespace().next());
    let of_libc = ["/libc.", "/libm.", "/libresolv.", "/libdl.", "/libpthread.", "/librt."];
    let below = below.filter(|path| path.starts_with('/') && !of_libc.iter().any(|name| path.contains(name)));
    libraries.extend(below.map(str::to_owned).collect::<Vec<_>>());
    libraries
}

/// Imported symbols with one library that imports each.
fn imports() -> BTreeMap<String, String> {
    let mut imports = BTreeMap::new();
    for library in libraries() {
        for line in output("nm", &["-D", "--undefined-only", &library]).lines() {
            let symbol = line.split_whitespace().last().unwrap_or_default();
            // Every symbol of glibc has one of glibc's versions.
            let Some((name, version)) = symbol.split_once('@') else { continue };
            if version.starts_with("GLIBC") {
                imports.insert(name.to_owned(), library.clone());
            }
        }
    }
    imports
}

#[test]
fn every_imported_function_that_waits_is_hooked_or_reviewed() {
    let imports = imports();
    assert!(imports.len() > 500 && imports.contains_key("recv"), "nm found only {} imports", imports.len());
    let missing: Vec<_> = imports.iter().filter(|(name, _)| review(name) == Review::Unknown).collect();
    assert!(missing.is_empty(), "imported, waits, and neither hooked nor reviewed: {missing:?}");
}

#[test]
fn the_lists_do_not_contradict_each_other_and_each_name_is_hooked_once() {
    let names: BTreeSet<_> = SYMBOLS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), SYMBOLS.len());
    let reviewed = NOT_HOOKED.iter().map(|(name, _)| *name).chain(NEVER_WAIT.iter().copied());
    for name in reviewed {
        assert!(!names.contains(name), "{name} is hooked and in a list of those that are not");
    }
    for kind in [HookKind::Ready, HookKind::Sleep, HookKind::Offload, HookKind::Note] {
        assert!(SYMBOLS.iter().any(|row| row.kind == kind));
    }
}
