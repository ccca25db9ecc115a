//! weft says so before anything else when the loader finds the library of another PHP.

use std::path::Path;
use std::process::Command;

use weft_tests::{Output, command, weft};

/// A library with libphp's name and symbols, which contains these texts. What weft declares as weak is left out: later
/// versions do not have it.
fn library(directory: &Path, texts: &[&str]) {
    let imports = "nm -D --undefined-only \"$0\" | awk '$1 != \"w\" { sub(/@.*/, \"\", $2); print $2 }' | sort -u >imports\n\
        library=$(ldd \"$0\" | awk '/libphp/ { print $3 }')\n\
        nm -D --defined-only \"$library\" | awk '{ print $3 }' | sort -u >exports\n\
        comm -12 imports exports";
    let symbols = run(directory, Command::new("bash").args(["-c", imports]).arg(command::binary()));
    assert!(symbols.lines().count() > 100, "weft imports PHP's functions: {symbols}");
    let mut assembly = String::from(".data\n");
    for symbol in symbols.lines() {
        assembly += &format!(".globl {symbol}\n{symbol}:\n");
    }
    assembly += ".quad 0\n.section .rodata\n";
    for text in texts {
        assembly += &format!(".asciz \"{text}\"\n");
    }
    std::fs::write(directory.join("library.s"), assembly).unwrap();
    let flags = ["-shared", "-nostdlib", "-Wl,-soname,libphp.so", "-o", "libphp.so", "library.s"];
    run(directory, Command::new("gcc").args(flags));
}

fn run(directory: &Path, program: &mut Command) -> String {
    let output = command::finish(program.current_dir(directory));
    assert_eq!(output.code, Some(0), "{program:?}: {output:?}");
    output.stdout
}

fn with_library(directory: &Path, arguments: &[&str]) -> Output {
    command::finish(command::command(directory).env("LD_LIBRARY_PATH", directory).args(arguments))
}

/// The build id and the version of the PHP under test.
fn own() -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let said = weft(directory.path(), &["php", "-r", "echo PHP_VERSION;"]).stdout;
    let info = weft(directory.path(), &["php", "-i"]).stdout;
    let build = info.lines().find_map(|line| line.strip_prefix("PHP Extension Build => "));
    (build.expect("phpinfo() says it").to_owned(), said)
}

fn is_refused(texts: &[&str], parts: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    library(directory.path(), texts);
    let file = directory.path().canonicalize().unwrap().join("libphp.so");
    let commands: [&[&str]; 6] = [
        &["version"],
        &["--help"],
        &["serve", "."],
        &["php", "-v"],
        &["check", "."],
        &["doctor", "--extensions"],
    ];
    for arguments in commands {
        let Output { code, stdout, stderr } = with_library(directory.path(), arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.starts_with(&format!("weft: {} is ", file.display())), "{stderr}");
        for part in parts.iter().chain(&["but this weft was built for PHP 8.", "on Debian libphp8."]) {
            assert!(stderr.contains(part), "{part:?} is missing: {stderr}");
        }
    }
}

#[test]
fn the_library_of_another_php_is_named_and_refused() {
    let (build, _) = own();
    let other = "API20991231,NTS";
    is_refused(&["X-Powered-By: PHP/8.9.1", other], &["is PHP 8.9.1 (API20991231,NTS), but", &build]);
}

#[test]
fn a_library_for_threads_or_for_debugging_is_refused() {
    let (build, version) = own();
    let header = format!("X-Powered-By: PHP/{version}");
    for other in [build.replace("NTS", "TS"), format!("{build},debug")] {
        is_refused(&[&header, &other], &[&format!("is PHP {version} ({other}), but"), &build]);
    }
}

#[test]
fn a_library_that_is_no_php_is_refused() {
    is_refused(&["nothing of the kind"], &["is no PHP that weft recognises, but"]);
}

#[test]
fn an_update_of_the_same_php_is_taken() {
    let (build, version) = own();
    let series = &version[..version.rfind('.').expect("a version has three parts")];
    let directory = tempfile::tempdir().unwrap();
    library(directory.path(), &[&format!("X-Powered-By: PHP/{series}.255"), &build]);
    let output = with_library(directory.path(), &["version"]);
    assert!(output.stdout.contains(&format!("PHP {series}.255")), "{output:?}");
}
