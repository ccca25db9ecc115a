//! Starting: its output, its refusals, and the notifications to a service manager.

use std::os::unix::net::UnixDatagram;

use rustix::process::Signal;
use weft_tests::{Server, command, until, weft};

use crate::server;

#[test]
fn the_first_screen_shows_what_is_served() {
    let weft = server().with("--workers", "2").start();
    let log = weft.log();
    for part in [
        "app.php (coroutine mode)",
        "workers     2",
        &weft_tests::php::config("--version"),
        "opcache     on; JIT tracing",
        "limit",
        "reload",
        "stop",
    ] {
        assert!(log.contains(part), "{part} is not on the screen:\n{log}");
    }
    assert!(log.contains(&format!("weft: listening on http://{}\n", weft.address)));
    assert!(log.lines().count() <= 24, "it is more than one screen:\n{log}");
    assert_eq!(weft.workers().len(), 2);
}

#[test]
fn a_port_in_use_is_reported() {
    let first = server().start();
    let address = first.address.to_string();
    let mut second = server().with("--listen", &address).spawn();
    assert_eq!(second.wait().code(), Some(1));
    second.wait_for_log(&format!("cannot listen on {address}: the port is taken"));
    assert_eq!(first.get("/").status, 200);
}

#[test]
fn an_application_that_does_not_start_is_reported_with_file_and_line() {
    for (source, why) in [
        ("return function {", "syntax error"),
        ("throw new DomainException('no database');", "no database"),
        ("no_such_function();", "Call to undefined function no_such_function()"),
        ("return 'text';", "return"),
        ("exit;", "app.php"),
        ("require 'missing.php';", "missing.php"),
    ] {
        let mut weft = Server::new(source).spawn();
        assert_eq!(weft.wait().code(), Some(1), "{source}: {}", weft.log());
        weft.wait_for_log(why);
        assert!(!weft.log().contains("weft: ready"), "{source}");
    }
}

#[test]
fn a_missing_application_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = weft(directory.path(), &["serve", "missing.php", "--listen=127.0.0.1:0"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("missing.php"), "{outcome:?}");
    let outcome = weft(directory.path(), &["serve"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("no application"), "{outcome:?}");
}

#[test]
fn a_boot_that_takes_too_long_is_ended() {
    let mut weft = Server::new("sleep(600);").with("--boot-timeout-ms", "300").spawn();
    assert_eq!(weft.wait().code(), Some(1));
    weft.wait_for_log("boot_timeout_ms");
}

#[test]
fn two_masters_with_one_pid_file_are_refused() {
    let weft = server().with("--pid-file", "weft.pid").start();
    let outcome = weft.weft(&["serve", "app.php", "--listen=127.0.0.1:0", "--pid-file=weft.pid"]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains(&format!("weft is already running as pid {}", weft.pid())),
        "{outcome:?}"
    );
    assert_eq!(weft.read("weft.pid"), format!("{}\n", weft.pid()));
    assert_eq!(weft.get("/").status, 200);
}

#[test]
fn a_service_manager_hears_of_each_state() {
    let server = server();
    let path = server.directory().join("notify.sock");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(weft_tests::PATIENCE)).unwrap();
    let hear = || {
        let mut packet = [0; 4096];
        let length = manager.recv(&mut packet).expect("a notification");
        String::from_utf8_lossy(&packet[..length]).into_owned()
    };
    let mut weft = server.with_variable("NOTIFY_SOCKET", &path.display().to_string()).start();
    let ready = hear();
    assert!(ready.starts_with(&format!("READY=1\nMAINPID={}\nSTATUS=", weft.pid())), "{ready}");
    weft.signal(Signal::HUP);
    assert!(hear().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert!(hear().starts_with("READY=1\n"));
    weft.signal(Signal::TERM);
    assert!(hear().starts_with("STOPPING=1\n"));
    assert!(weft.wait().success());
}

#[test]
fn a_service_managers_watchdog_is_fed() {
    let server = server();
    let path = server.directory().join("notify.sock");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(weft_tests::PATIENCE)).unwrap();
    let _weft = server
        .with_variable("NOTIFY_SOCKET", &path.display().to_string())
        .with_variable("WATCHDOG_USEC", "200000")
        .start();
    let mut heard = 0;
    until("three signs of life", || {
        let mut packet = [0; 4096];
        let length = manager.recv(&mut packet).expect("a notification");
        heard += usize::from(&packet[..length] == b"WATCHDOG=1");
        (heard == 3).then_some(())
    });
}

#[test]
fn a_daemon_is_ready_when_its_parent_returns() {
    let directory = tempfile::Builder::new().prefix("weft-test-").tempdir().unwrap();
    std::fs::write(directory.path().join("app.php"), format!("<?php {}", crate::APPLICATION)).unwrap();
    let log = directory.path().join("error.log");
    let mut start = command::command(directory.path());
    start.args([
        "serve",
        "app.php",
        "--listen=127.0.0.1:0",
        "--workers=1",
        "--daemon",
        "--pid-file=weft.pid",
    ]);
    start.arg(format!("--error-log={}", log.display()));
    let outcome = command::finish(&mut start);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let stopped = Stop(directory.path());
    let url = outcome.stderr.lines().find_map(|line| line.strip_prefix("weft: listening on http://"));
    let address = url.expect("the address").trim_end_matches('/').parse().expect("an address");
    let mut client = weft_tests::Client::connect(address);
    client.get("/");
    assert!(client.read().text().starts_with("code one "));
    let outcome = weft(directory.path(), &["reload", "--pid-file=weft.pid"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    drop(stopped);
    assert!(!directory.path().join("weft.pid").exists());
    assert!(std::fs::read_to_string(&log).unwrap().contains("stopped"));
}

/// Stops a daemon, however the test ends.
struct Stop<'a>(&'a std::path::Path);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        let outcome = weft(self.0, &["stop", "--pid-file=weft.pid"]);
        if outcome.code != Some(0) {
            eprintln!("the daemon was not stopped: {outcome:?}");
        }
    }
}

#[test]
fn workers_drop_roots_rights() {
    if !rustix::process::geteuid().is_root() {
        // Other users are refused, and told why.
        let mut weft = server().with("--user", "root").spawn();
        assert_eq!(weft.wait().code(), Some(1));
        return;
    }
    let app =
        "return fn () => json_encode([posix_getuid(), posix_geteuid(), posix_getgid(), posix_getgroups()]);";
    let server = Server::new(app).with("--user", "www-data").with("--error-log", "error.log");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(server.directory(), mode).unwrap();
    let weft = server.start();
    let said = weft.get("/").json();
    assert_eq!((&said[0], &said[1]), (&33.into(), &33.into()), "{said}");
    assert_eq!(said[2], 33);
}

/// A table that grows in a process with threads makes its worker wait for the kernel (fs/file.c, `expand_fdtable`).
#[test]
fn a_workers_table_of_descriptors_has_room_from_the_start() {
    const ROOM: u64 = 16_384;
    let weft = server().start();
    let status = std::fs::read_to_string(format!("/proc/{}/status", weft.workers()[0])).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(ROOM);
    assert!(size.trim().parse::<u64>().unwrap() >= ROOM.min(limit), "{size} of {limit}");
}
