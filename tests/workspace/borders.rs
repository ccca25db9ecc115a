//! The borders between the crates, as drawn in ARCHITECTURE.md.

use std::collections::BTreeMap;
use std::process::Command;

use crate::files::{read, root, with_ending};

/// Which of our crates each crate may use.
const MAY_USE: [(&str, &[&str]); 6] = [
    ("weft-proto", &[]),
    ("weft-rt", &[]),
    ("weft-serve", &["weft-proto", "weft-rt"]),
    ("weft-zend", &["weft-rt"]),
    ("weft", &["weft-proto", "weft-rt", "weft-serve", "weft-zend"]),
    ("weft-tests", &[]),
];

/// Our crates and their dependencies of any kind.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--format-version=1", "--offline"]).current_dir(root());
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let name = |of: &serde_json::Value| of["name"].as_str().expect("a package has a name").to_string();
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let pairs = packages.iter().map(|package| {
        let of = package["dependencies"].as_array().expect("a list of dependencies");
        (name(package), of.iter().map(name).collect())
    });
    pairs.collect()
}

#[test]
fn crates_depend_in_one_direction() {
    let known = dependencies();
    for (crate_name, uses) in &known {
        let (_, allowed) = MAY_USE
            .iter()
            .find(|(name, _)| name == crate_name)
            .unwrap_or_else(|| panic!("{crate_name} has no place in the layout yet: give it one here"));
        for used in uses.iter().filter(|used| known.contains_key(*used)) {
            assert!(allowed.contains(&used.as_str()), "{crate_name} depends on {used}");
        }
    }
    assert_eq!(known.len(), MAY_USE.len(), "a crate of the layout is missing");
}

#[test]
fn proto_does_no_io_and_has_no_clock_by_its_dependencies() {
    let allowed =
        ["base64", "bytes", "flate2", "http", "httparse", "httpdate", "memchr", "miniz_oxide", "sha1"];
    for used in &dependencies()["weft-proto"] {
        assert!(allowed.contains(&used.as_str()), "weft-proto depends on {used}");
    }
}

#[test]
fn no_unsafe_in_proto_and_serve() {
    for (crate_name, root_file) in
        [("proto", "crates/proto/src/lib.rs"), ("serve", "crates/serve/src/lib.rs")]
    {
        let text = read(&root().join(root_file));
        let forbids = text.lines().any(|line| line.starts_with("#![forbid(") && line.contains("unsafe_code"));
        assert!(forbids, "{crate_name} does not forbid unsafe code");
    }
}

#[test]
fn unsafe_is_denied_in_rt_and_weft_outside_named_files() {
    for root_file in ["crates/rt/src/lib.rs", "crates/weft/src/main.rs"] {
        assert!(read(&root().join(root_file)).contains("#![deny(unsafe_code)]"), "{root_file}");
    }
}

#[test]
fn only_zends_shim_includes_zend_headers() {
    for path in with_ending("crates", &[".rs", ".c", ".h"]) {
        if path.starts_with(root().join("crates/zend/c")) {
            continue;
        }
        let text = read(&path);
        let includes = text.lines().any(|line| line.trim_start().starts_with("#include"));
        assert!(!includes, "{} includes a C header", path.display());
    }
}

/// Words that may appear only where the code is allowed to know what they mean.
fn assert_never_says(directory: &str, words: &[&str]) {
    for path in with_ending(directory, &[".rs"]) {
        for (number, line) in read(&path).lines().enumerate() {
            // Comments may name what the code must not know.
            let code = line.split("//").next().unwrap_or_default();
            let mut spoken = code.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
            if let Some(word) = spoken.find(|word| words.contains(&word.as_str())) {
                panic!("{}:{} says {word}: {line}", path.display(), number + 1);
            }
        }
    }
}

#[test]
fn rt_names_neither_php_nor_http() {
    assert_never_says("crates/rt/src", &["php", "zend", "zval", "http", "request", "response"]);
}

#[test]
fn serve_names_no_php() {
    assert_never_says("crates/serve/src", &["php", "zend", "zval"]);
}

#[test]
fn proto_touches_no_socket_file_or_clock() {
    for path in with_ending("crates/proto/src", &[".rs"]) {
        let text = read(&path);
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code: String = product.lines().filter_map(|line| line.split("//").next()).collect();
        for forbidden in [
            "TcpStream",
            "TcpListener",
            "UdpSocket",
            "UnixStream",
            "std::fs",
            "std::thread",
            "stdin",
            "stdout",
            "SystemTime::now",
            "Instant::now",
        ] {
            assert!(!code.contains(forbidden), "{} uses {forbidden}", path.display());
        }
    }
}
