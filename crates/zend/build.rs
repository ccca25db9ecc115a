//! Compiles the C side against the distribution's PHP headers and links its libphp. It makes the C header
//! `c/weft_abi.h` from the table in `src/abi.rs`.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

#[allow(dead_code, reason = "the build script reads the names only")]
#[path = "src/abi.rs"]
mod abi;

/// The numbers of `src/abi.rs` for C.
const ABI_HEADER: &str = "c/weft_abi.h";

/// A name as C spells it: `NotThisOne` is `NOT_THIS_ONE`.
fn capitals(name: &str) -> String {
    let mut capitals = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !capitals.is_empty() {
            capitals.push('_');
        }
        capitals.push(letter.to_ascii_uppercase());
    }
    capitals
}

/// The text of that header.
fn abi_header() -> String {
    let mut header = String::from(
        "/* The numbers that Rust and C share. Made by build.rs from src/abi.rs: change them there. */\n#ifndef WEFT_ABI_H\n#define WEFT_ABI_H\n",
    );
    for (name, value) in abi::CONSTANTS {
        let suffix = if i64::try_from(*value).is_err() { "u" } else { "" };
        let _ = writeln!(header, "#define WEFT_{name} ({value}{suffix})");
    }
    for an_enum in abi::ENUMS {
        header.push_str("typedef enum {\n");
        for (number, variant) in an_enum.variants.iter().enumerate() {
            let _ = writeln!(header, "\t{}{} = {number},", an_enum.prefix, capitals(variant));
        }
        let _ = writeln!(header, "}} {};", an_enum.type_name);
    }
    header + "#endif\n"
}

fn php_config(argument: &str) -> String {
    let tool = std::env::var("PHP_CONFIG").unwrap_or_else(|_| "php-config".to_owned());
    output(&tool, &[argument], "php-dev libphp-embed")
}

/// What a tool says, without the line's end. `packages` are Debian's that have it.
fn output(tool: &str, arguments: &[&str], packages: &str) -> String {
    match Command::new(tool).args(arguments).output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Ok(output) => panic!(
            "{tool} {arguments:?}: {}on Debian: apt-get install {packages}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => panic!("{tool}: {error}; on Debian: apt-get install {packages}"),
    }
}

/// The versions of PHP whose structures the C side knows.
const KNOWN: [&str; 5] = ["8.2", "8.3", "8.4", "8.5", "8.6"];

/// `8.2` of `8.2.36`, if weft knows that PHP.
fn series() -> String {
    let version = php_config("--version");
    let series = version.split('.').take(2).collect::<Vec<_>>().join(".");
    assert!(
        KNOWN.contains(&series.as_str()),
        "PHP {version} is unknown to weft, which knows {}: name another with PHP_CONFIG=/path/to/php-config",
        KNOWN.join(", ")
    );
    series
}

/// The extensions whose headers the C side includes. PHP has them unless it was configured without.
const EXTENSIONS: [&str; 8] = ["date", "json", "libxml", "pcre", "pdo", "random", "session", "standard"];

/// A PHP that weft cannot be compiled with says so here, not in the middle of a header.
fn has_what_is_needed() {
    let include = Path::new(&php_config("--include-dir")).join("ext");
    let missing: Vec<_> = EXTENSIONS.into_iter().filter(|name| !include.join(name).is_dir()).collect();
    assert!(
        missing.is_empty(),
        "{} has no headers of PHP's extensions {}: configure PHP without --disable-all and the like",
        include.display(),
        missing.join(", ")
    );
}

/// The directory of libphp, and its name for the linker: Debian's has the version in its name, PHP's own has not.
fn library(series: &str) -> (String, String) {
    let directory = php_config("--prefix") + "/lib";
    let names = [format!("php{series}"), "php".to_owned()];
    let found = names.into_iter().find(|name| Path::new(&directory).join(format!("lib{name}.so")).exists());
    let Some(name) = found else {
        panic!(
            "there is no libphp in {directory}: on Debian apt-get install libphp{series}-embed; PHP from source is \
             configured with --enable-embed=shared"
        );
    };
    (directory, name)
}

fn main() {
    let series = series();
    has_what_is_needed();
    let mut build = cc::Build::new();
    let mut sources: Vec<_> = ["c", "c/instance", "c/php"]
        .iter()
        .flat_map(|directory| std::fs::read_dir(directory).expect("the crate has the directory"))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    sources.sort();
    // Only when it has changed: in a read-only tree it is there already.
    let header = abi_header();
    if std::fs::read_to_string(ABI_HEADER).ok().as_ref() != Some(&header) {
        std::fs::write(ABI_HEADER, header).unwrap_or_else(|error| panic!("{ABI_HEADER}: {error}"));
    }
    println!("cargo:rerun-if-changed=src/abi.rs");
    // For new files.
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-changed=c/instance");
    println!("cargo:rerun-if-changed=c/php");
    for source in sources {
        println!("cargo:rerun-if-changed={}", source.display());
        if source.extension().is_some_and(|extension| extension == "c") {
            build.file(source);
        }
    }
    for flag in php_config("--includes").split_whitespace() {
        build.flag(flag);
    }
    // php_libxml.h needs libxml2's own headers.
    for flag in output("pkg-config", &["--cflags", "libxml-2.0"], "pkg-config libxml2-dev").split_whitespace()
    {
        build.flag(flag);
    }
    let version = format!("\"{}\"", std::env::var("CARGO_PKG_VERSION").expect("cargo sets it"));
    build
        .define("_GNU_SOURCE", None)
        .define("WEFT_VERSION", version.as_str())
        .define("ZEND_ENABLE_STATIC_TSRMLS_CACHE", None);
    build.std("gnu11").flag("-fno-strict-aliasing").flag("-Wall").flag("-Wextra");
    // Zend's headers cause many of these three warnings.
    build.flag("-Wno-unused-parameter").flag("-Wno-sign-compare").flag("-Wno-unused-function");
    build.flag("-Wno-unused-const-variable").flag("-Wno-clobbered");
    // The tests want none; another compiler of a user's may know more of them. A change of the variable alone builds nothing
    // anew: the code would be the same.
    build.warnings_into_errors(std::env::var_os("C_WARNINGS").is_some_and(|what| what == "error"));
    // The functions of a request are many and small: a frame pointer in each would be measurable.
    build.opt_level(2).force_frame_pointer(false);
    build.compile("weft_zend");

    let (directory, name) = library(&series);
    println!("cargo:rustc-link-search=native={directory}");
    println!("cargo:rustc-link-lib=dylib={name}");
    if directory != "/usr/lib" {
        // The loader may not look there. crates/weft/build.rs does the same for the executable, which names the
        // directory in turn.
        println!("cargo:rustc-link-arg-tests=-Wl,-rpath,{directory}");
        println!("cargo:libphp={directory}");
    }
    println!("cargo:rerun-if-env-changed=PHP_CONFIG");
    // libphp and its extensions bind to the symbols of tests as they do to those of the executable.
    println!("cargo:rustc-link-arg-tests=-Wl,--export-dynamic");
}
