//! The calls of PHP's library and of extensions are direct in a server's memory, and a library for which that cannot be done serves as
//! well.

#![cfg(target_arch = "x86_64")]

use std::path::PathBuf;
use std::process::Command;

use weft_tests::command::{binary, finish};
use weft_tests::{Running, Server};

const PAGE: &str = "<?php echo strlen(str_repeat('ab', 3)), json_encode(array_map('mb_strtoupper', ['a']));";

fn page() -> Server {
    Server::of_docroot(&[("index.php", PAGE)]).with("--log-level", "debug")
}

/// What a process has in place of the file's bytes, of the code of a library: KiB of its pages (proc_pid_smaps(5)).
fn changed_kib(process: u32, library: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps")).expect("the process is alive");
    let mut is_code = false;
    let mut changed = 0;
    for line in text.lines() {
        if line.contains('-') && line.split_ascii_whitespace().count() >= 5 {
            is_code = line.contains(library) && line.contains("r-xp");
        } else if let Some(size) = line.strip_prefix("Anonymous:").filter(|_| is_code) {
            changed += size.trim_end_matches(" kB").trim().parse::<u64>().expect("KiB");
        }
    }
    changed
}

fn answers(weft: &Running) {
    assert_eq!(weft.get("/").text(), "6[\"A\"]");
}

#[test]
fn the_calls_within_the_library_are_direct() {
    let mut weft = page().start();
    weft.wait_for_log("of PHP's library are direct now");
    answers(&weft);
    assert!(weft.workers().into_iter().all(|worker| changed_kib(worker, "/libphp") > 1_000));
}

#[test]
fn so_are_those_of_extensions() {
    let mut weft = page().start();
    weft.wait_for_log("extensions are direct now");
    answers(&weft);
    for worker in weft.workers() {
        for (library, at_least) in [("/opcache.so", 200), ("/mbstring.so", 20)] {
            let changed = changed_kib(worker, library);
            assert!(changed >= at_least, "{library}: {changed} KiB");
        }
    }
}

#[test]
fn they_stay_as_they_are_where_that_is_asked_for() {
    let weft = page().with("--relax", "false").start();
    answers(&weft);
    let all = ["/libphp", "/opcache.so", "/mbstring.so"];
    assert!(
        weft.workers().into_iter().all(|worker| all.iter().all(|library| changed_kib(worker, library) == 0))
    );
    assert!(!weft.log().contains("are direct now"), "{}", weft.log());
}

/// The library that the loader finds for weft, with another name for one of its sections.
fn library_without(section: &str, directory: &std::path::Path) {
    let found = finish(Command::new("ldd").arg(binary())).stdout;
    let path = found.lines().find_map(|line| line.split_once("libphp")?.1.split_whitespace().nth(2));
    let path = PathBuf::from(path.expect("weft is linked with libphp"));
    let name =
        found.lines().find_map(|line| line.trim().split(' ').next().filter(|name| name.contains("libphp")));
    let renamed = format!("{section}=.renamed");
    let mut objcopy = Command::new("objcopy");
    objcopy.arg("--rename-section").arg(renamed).arg(path).arg(directory.join(name.expect("its name")));
    assert_eq!(finish(&mut objcopy).code, Some(0));
}

#[test]
fn a_library_of_another_form_serves_as_it_is() {
    let weft = page();
    library_without(".eh_frame", weft.directory());
    let directory = weft.directory().to_str().expect("a path of letters").to_owned();
    let mut weft = weft.with_variable("LD_LIBRARY_PATH", &directory).start();
    weft.wait_for_log(
        "the calls within PHP's library stay indirect, which costs a few percent: it has no .eh_frame",
    );
    answers(&weft);
    assert!(weft.workers().into_iter().all(|worker| changed_kib(worker, "/libphp") == 0));
}
