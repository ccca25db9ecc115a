//! `weft doctor`: which limit of this machine bites first; and with `--extensions` which extensions are loaded, how they wait, and which
//! calls bypass the hooks.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use weft_tests::{command, php, weft};

fn names(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name")).collect()
}

/// An extension has a file of its own, or is part of libphp: Debian's packages have most of them apart, PHP's own build has
/// none.
fn of_extension<'a>(report: &'a Value, name: &str) -> &'a Value {
    let file = format!("{name}.so");
    let objects = report["objects"].as_array().expect("a list");
    let own = objects.iter().find(|object| object["name"] == file.as_str());
    own.unwrap_or_else(|| object(report, "libphp"))
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
    let library = object(&report, "libphp");
    assert_eq!(library["part"], "php");
    for name in ["poll", "recv", "connect", "usleep", "flock"] {
        assert!(names(&library["cooperative"]).contains(&name), "{name}: {library:#}");
    }
    assert!(names(&library["offloaded"]).contains(&"getaddrinfo"), "{library:#}");
    let curl = object(&report, "libcurl.so.4");
    assert_eq!((curl["part"].as_str(), &curl["unknown"]), (Some("library"), &serde_json::json!([])));
    let user = of_extension(&report, "curl")["name"].as_str().expect("a name");
    assert!(names(&curl["needed_by"]).contains(&user), "{curl:#}");
    assert!(names(&curl["cooperative"]).contains(&"poll") && curl["threads"] == true, "{curl:#}");
    assert!(library["blocking"]["fread"].as_str().is_some_and(|why| why.contains("stdio")), "{library:#}");
    for name in ["stat", "opendir", "rename", "unlink", "mmap"] {
        let why = library["blocking"][name].as_str();
        assert!(why.is_some_and(|why| why.contains("disk")), "{name}: {library:#}");
    }
    let unreviewed = report["objects"].as_array().expect("a list").iter();
    let unreviewed = unreviewed.filter(|object| object["thread_local"]["fitness"] == "not reviewed");
    let unreviewed: Vec<_> = unreviewed.map(|object| &object["name"]).collect();
    assert!(unreviewed.is_empty(), "state for each thread that nobody has looked at: {unreviewed:?}");
    let accounts = of_extension(&report, "posix")["blocking"]["getpwnam"].as_str();
    assert!(accounts.is_some_and(|why| why.contains("nsswitch.conf")), "{report:#}");
    // Where all is part of libphp, there may be no such directory.
    let files = std::fs::read_dir(php::config("--extension-dir")).into_iter().flatten();
    let files: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
    for object in report["objects"].as_array().expect("a list") {
        let name = object["name"].as_str().expect("a name");
        let is_extension = files.iter().any(|file| file == name);
        assert_eq!(object["part"] == "extension", is_extension, "{object:#}");
    }
}

#[test]
fn the_table_has_the_content_of_the_json_and_why_something_blocks() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let table = weft(directory.path(), &["doctor", "--extensions"]);
    assert_eq!(table.code, Some(0), "{table:?}");
    let sockets = Path::new(&php::config("--extension-dir")).join("sockets.so");
    for text in [
        "PHP 8.",
        if sockets.exists() { "\nsockets.so\n  cooperative  " } else { "\nlibphp" },
        "\nlibcurl.so.4",
        "without calls that wait",
        "the system's account database",
        "every function that waits is hooked or reviewed\n",
    ] {
        assert!(table.stdout.contains(text), "no {text:?} in\n{}", table.stdout);
    }
    // The first line has the path of the library, which may be long.
    assert!(table.stdout.lines().skip(1).all(|line| line.chars().count() <= 120), "{}", table.stdout);
}

#[test]
fn a_library_that_waits_in_an_unknown_function_is_found() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let library = library(
        directory.path(),
        "int epoll_pwait2(int); __thread int own; int waits(void) { return epoll_pwait2(own); }",
    );
    let mut doctor = command::command(directory.path());
    doctor.args(["doctor", "--extensions"]).env("LD_PRELOAD", &library);
    let report = command::finish(&mut doctor);
    assert_eq!(report.code, Some(1), "{report:?}");
    assert!(report.stdout.contains("UNKNOWN      epoll_pwait2"), "{}", report.stdout);
    assert!(report.stdout.contains("not reviewed libstrange.so"), "{}", report.stdout);
    assert!(
        report.stdout.contains("epoll_pwait2() of libstrange.so bypasses the hooks"),
        "{}",
        report.stdout
    );
}

/// A library compiled from this source.
fn library(directory: &Path, source: &str) -> std::path::PathBuf {
    std::fs::write(directory.join("strange.c"), source).expect("the test's own directory");
    let library = directory.join("libstrange.so");
    let mut compiler = Command::new("cc");
    compiler.current_dir(directory).args(["-shared", "-fPIC", "-o", "libstrange.so", "strange.c"]);
    let output = command::finish(&mut compiler);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    library
}

/// An extension that no test covers, loaded from `directory`.
fn extension(directory: &Path) -> std::path::PathBuf {
    let source = r#"
        #include <php.h>
        zend_module_entry strange_module_entry = {STANDARD_MODULE_HEADER, "strange", NULL, NULL, NULL, NULL, NULL, NULL, "1", STANDARD_MODULE_PROPERTIES};
        ZEND_GET_MODULE(strange)
    "#;
    std::fs::write(directory.join("extension.c"), source).expect("the test's own directory");
    let file = directory.join("strange.so");
    let build = "cc -shared -fPIC $(${PHP_CONFIG:-php-config} --includes) -o strange.so extension.c";
    let output = command::finish(Command::new("sh").current_dir(directory).args(["-c", build]));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    file
}

#[test]
fn extensions_are_proven_for_instances_or_unknown_or_unfit() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = extension(directory.path());
    let load = format!("extension={}", file.display());
    let report = weft(directory.path(), &["doctor", "--extensions", "--json", "--define", &load]);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let judged = |name: &str| {
        let all = report["instances"].as_array().expect("a list");
        let found = all.iter().find(|one| one["extension"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {all:#?}")).clone()
    };
    let curl = judged("curl");
    assert_eq!((&curl["fitness"], &curl["why"]), (&json!("proven"), &json!("tests/clients/scripts/network")));
    // Where no php.ini loads it, it is not there.
    let opcache = weft(directory.path(), &["php", "-r", "echo extension_loaded('Zend OPcache') ? 1 : 0;"]);
    if opcache.stdout == "1" {
        assert_eq!(judged("Zend OPcache")["fitness"], "proven", "a name of two words");
    }
    assert!(judged("openssl")["shared"].as_str().is_some_and(|text| text.contains("openssl_error_string")));
    let strange = judged("strange");
    assert_eq!(strange["fitness"], "unfit");
    assert!(
        strange["why"].as_str().is_some_and(|why| why.contains("outside PHP's extension directory")),
        "{strange}"
    );
    let table = weft(directory.path(), &["doctor", "--extensions", "--define", &load]).stdout;
    for text in [
        "\nin PHP instances (--instances)\n  proven       ",
        "\n  unfit        strange - it was loaded from outside",
    ] {
        assert!(table.contains(text), "no {text:?} in\n{table}");
    }
    // Below a directory that looks like PHP's own, the extension could belong to each instance, but no test
    // proves it.
    let own = directory.path().join("lib/php");
    std::fs::create_dir_all(&own).expect("the test's own directory");
    std::fs::copy(&file, own.join("strange.so")).expect("the test's own file");
    let load = format!("extension={}", own.join("strange.so").display());
    let table = weft(directory.path(), &["doctor", "--extensions", "--define", &load]).stdout;
    assert!(table.contains("\n  unknown      strange - none of weft's tests uses it"), "{table}");
}

#[test]
fn a_worker_with_an_unfit_extension_reports_it_and_runs_one_request_at_a_time() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let load = format!("extension={}", extension(directory.path()).display());
    let server = weft_tests::Server::of_docroot(&[(
        "index.php",
        "<?php echo extension_loaded('strange') ? 'loaded' : 'no';",
    )]);
    let mut running = server.with("--instances", "4").with("--define", &load).start();
    assert_eq!(running.get("/").text(), "loaded");
    running.wait_for_log(
        "no PHP instances: the extension strange is unfit for them: it was loaded from outside",
    );
}

#[test]
fn resident_mode_stays_resident_where_there_can_be_no_instances() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let load = format!("extension={}", extension(directory.path()).display());
    let script = "<?php return fn ($request) => ini_get('precision') . ini_set('precision', '9');";
    let server = weft_tests::Server::of_script("app.php", script).with("--instances", "4");
    let running = server.with("--define", &load).with("--define", "precision=5").start();
    assert_eq!(running.get("/").text(), "55");
    assert_eq!(running.get("/").text(), "55");
}

#[test]
fn wrong_settings_and_two_questions_at_once_are_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let refused = weft(directory.path(), &["doctor", "--extensions", "--client"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("--client"), "{refused:?}");
    let refused = weft(directory.path(), &["doctor", "--extensions", "--workers", "none"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("workers"), "{refused:?}");
}

/// weft with a limit of descriptors that somebody has put there on purpose.
fn with_descriptors(directory: &Path, count: u32, arguments: &[&str]) -> command::Output {
    let mut limited = Command::new("prlimit");
    limited.current_dir(directory).arg(format!("--nofile={count}:{count}")).arg(command::binary());
    command::finish(limited.args(arguments))
}

#[test]
fn a_limit_of_64_descriptors_is_named_first_everywhere() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let report = with_descriptors(directory.path(), 64, &["doctor", "--json"]);
    assert_eq!(report.code, Some(3), "{report:?}");
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let worst = &report["advice"][0];
    assert_eq!(
        (&report["worst"], &worst["subject"]),
        (&json!("serious"), &json!("descriptors")),
        "{report:#}"
    );
    assert!(
        worst["found"].as_str().is_some_and(|found| found.starts_with("64 descriptors for each worker")),
        "{worst:#}"
    );
    for part in ["why", "fix"] {
        assert!(worst[part].as_str().is_some_and(|text| !text.is_empty()), "{worst:#}");
    }
    let text = with_descriptors(directory.path(), 64, &["doctor"]).stdout;
    assert!(text.starts_with("serious  descriptors: 64 descriptors for each worker"), "{text}");
    assert!(
        text.contains("\n        why  connections_max is ") && text.contains("\n        fix  "),
        "{text}"
    );
    // Who starts a server is told, too.
    std::fs::write(directory.path().join("app.php"), "<?php return fn () => '';")
        .expect("the test's own directory");
    let check = with_descriptors(directory.path(), 64, &["check", "app.php"]);
    assert!(check.stdout.contains("descriptors: 64 descriptors for each worker"), "{check:?}");
}

#[test]
fn the_real_machine_is_examined_as_a_server_and_as_a_client() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for arguments in [&["doctor", "--json"][..], &["doctor", "--client", "--json"]] {
        let output = weft(directory.path(), arguments);
        let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
        let all = report["advice"].as_array().expect("a list");
        let code = match report["worst"].as_str() {
            Some("serious") => 3,
            Some("warning") => 1,
            _ => 0,
        };
        assert_eq!(output.code, Some(code), "{report:#}");
        for subject in ["descriptors", "ports"] {
            assert!(all.iter().any(|one| one["subject"] == subject), "{subject}: {report:#}");
        }
        let is_client = all.iter().any(|one| one["subject"] == "coordinated omission");
        assert_eq!(is_client, arguments.contains(&"--client"), "{report:#}");
        let ranks = ["serious", "warning", "note", "fine"];
        let rank = |one: &Value| ranks.iter().position(|rank| one["severity"] == *rank).expect("a rank");
        assert!(all.is_sorted_by_key(rank), "the worst first: {report:#}");
    }
    let wrong = weft(directory.path(), &["doctor", "--workers", "many"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}
