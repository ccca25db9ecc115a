//! `weft doctor --extensions`: what is loaded, how it waits, and what bypasses the hooks.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use weft_tests::{command, weft};

fn names(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name")).collect()
}

fn object<'a>(report: &'a Value, name: &str) -> &'a Value {
    let objects = report["objects"].as_array().expect("a list");
    let found =
        objects.iter().find(|object| object["name"].as_str().is_some_and(|own| own.starts_with(name)));
    found.unwrap_or_else(|| panic!("no {name} in {report:#}"))
}

#[test]
fn the_installed_extensions_bypass_nothing_and_each_is_listed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let report = weft(directory.path(), &["doctor", "--extensions", "--json"]);
    assert_eq!(report.code, Some(0), "{report:?}");
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let php = object(&report, "libphp");
    assert_eq!(php["part"], "php");
    for name in ["poll", "recv", "connect", "usleep", "flock"] {
        assert!(names(&php["cooperative"]).contains(&name), "{name}: {php:#}");
    }
    assert!(names(&php["offloaded"]).contains(&"getaddrinfo"), "{php:#}");
    let curl = object(&report, "libcurl.so.4");
    assert_eq!((curl["part"].as_str(), &curl["unknown"]), (Some("library"), &serde_json::json!([])));
    assert!(names(&curl["needed_by"]).contains(&"curl.so"), "{curl:#}");
    assert!(names(&curl["cooperative"]).contains(&"poll") && curl["threads"] == true, "{curl:#}");
    assert!(php["blocking"]["fgets"].as_str().is_some_and(|why| why.contains("stdio")), "{php:#}");
    for name in ["stat", "opendir", "rename", "unlink", "mmap"] {
        assert!(php["blocking"][name].as_str().is_some_and(|why| why.contains("disk")), "{name}: {php:#}");
    }
    // Extensions with a file of their own, by their files' names.
    let loaded = weft(directory.path(), &["php", "-r", "echo implode(' ', get_loaded_extensions());"]).stdout;
    if loaded.contains("posix") {
        let accounts = object(&report, "posix.so")["blocking"]["getpwnam"].as_str();
        assert!(accounts.is_some_and(|why| why.contains("nsswitch.conf")), "{report:#}");
    }
    for name in ["curl", "mysqli", "redis", "sockets", "ftp"].iter().filter(|name| loaded.contains(*name)) {
        assert_eq!(object(&report, &format!("{name}.so"))["part"], "extension");
    }
}

#[test]
fn the_table_says_what_the_json_says_and_why_something_blocks() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let table = weft(directory.path(), &["doctor", "--extensions"]);
    assert_eq!(table.code, Some(0), "{table:?}");
    for text in [
        "PHP 8.",
        "\nsockets.so\n  cooperative  ",
        "\nlibcurl.so.4",
        "without calls that wait",
        "the system's account database",
        "every function that waits is hooked or reviewed\n",
    ] {
        assert!(table.stdout.contains(text), "no {text:?} in\n{}", table.stdout);
    }
    assert!(table.stdout.lines().all(|line| line.chars().count() <= 120), "{}", table.stdout);
}

#[test]
fn a_library_that_waits_by_a_function_nobody_knows_is_found() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library =
        library(directory.path(), "int epoll_pwait2(int); int waits(void) { return epoll_pwait2(0); }");
    let mut doctor = command::command(directory.path());
    doctor.args(["doctor", "--extensions"]).env("LD_PRELOAD", &library);
    let report = command::finish(&mut doctor);
    assert_eq!(report.code, Some(1), "{report:?}");
    assert!(report.stdout.contains("UNKNOWN      epoll_pwait2"), "{}", report.stdout);
    assert!(
        report.stdout.contains("epoll_pwait2() of libstrange.so bypasses the hooks"),
        "{}",
        report.stdout
    );
}

/// A library of this source.
fn library(directory: &Path, source: &str) -> std::path::PathBuf {
    std::fs::write(directory.join("strange.c"), source).expect("the test's own directory");
    let library = directory.join("libstrange.so");
    let mut compiler = Command::new("cc");
    compiler.current_dir(directory).args(["-shared", "-fPIC", "-o", "libstrange.so", "strange.c"]);
    let output = command::finish(&mut compiler);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    library
}

#[test]
fn without_a_question_there_is_no_answer() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let refused = weft(directory.path(), &["doctor"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("--extensions"), "{refused:?}");
    let refused = weft(directory.path(), &["doctor", "--extensions", "--workers", "none"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("workers"), "{refused:?}");
}
