//! A reload that finds a different program under weft's name.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use weft_tests::command::{self, write_program};
use weft_tests::until;

use crate::{changed, server};

/// Installs weft and its PHP library below a directory; returns the path of the binary.
fn install(directory: &Path) -> PathBuf {
    let path = directory.join("bin/weft");
    std::fs::create_dir_all(directory.join("bin")).unwrap();
    std::fs::create_dir_all(directory.join("share/weft")).unwrap();
    let library = directory.join("share/weft/php");
    if !library.exists() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../php");
        std::os::unix::fs::symlink(source, library).unwrap();
    }
    write_program(&path, File::open(command::binary()).unwrap());
    path
}

#[test]
fn a_program_that_does_not_say_it_can_take_over_does_not() {
    let server = server().with("--pid-file", "weft.pid");
    let binary = install(server.directory());
    let mut weft = server.run_by(&binary).start();
    for (program, why) in [
        ("#!/bin/sh\nexit 0\n", "is not a weft that can take over from this one"),
        ("#!/bin/sh\necho \"weft takes over from: weft-handover-0\"\n", "is not a weft that can take over"),
        ("#!/bin/sh\nyes \"$WEFT_HANDOVER\" | head -c 1000000\n", "is not a weft that can take over"),
        ("#!/bin/sh\necho broken >&2; exit 1\n", "broken"),
        ("no program", "cannot run"),
    ] {
        write_program(&binary, program.as_bytes());
        let outcome = weft.weft(&["reload", "--pid-file=weft.pid"]);
        assert_eq!(outcome.code, Some(1), "{program}: {outcome:?}");
        assert!(
            outcome.stderr.contains("reload failed, the running code goes on: "),
            "{program}: {outcome:?}"
        );
        assert!(outcome.stderr.contains(why), "{program}: {outcome:?}");
        assert!(weft.is_alive(), "{program}");
        assert!(weft.get("/").text().starts_with("code one "), "{program}");
    }
    weft.write_application(&changed("two"));
    install(weft.directory());
    let outcome = weft.weft(&["reload", "--pid-file=weft.pid"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(weft.get("/").text().starts_with("code two "));
}

/// An application that reports when its boot begins, and waits while the file `hold` exists.
const HELD: &str = "file_put_contents('boots', 'x', FILE_APPEND);
    while (is_file('hold')) { usleep(1000); clearstatcache(); } return fn () => 'served';";

#[test]
fn a_program_that_cannot_be_executed_any_more_after_its_check_changes_nothing() {
    let server = weft_tests::Server::new(HELD);
    let binary = install(server.directory());
    let mut weft = server.run_by(&binary).start();
    let checking = |weft: &weft_tests::Running, count: usize| {
        weft.write("hold", "yes");
        weft.signal(Signal::HUP);
        until("the check to boot the application", || (weft.read("boots").len() == count).then_some(()));
    };
    checking(&weft, 2);
    std::fs::set_permissions(&binary, PermissionsExt::from_mode(0o000)).unwrap();
    std::fs::remove_file(weft.path("hold")).unwrap();
    weft.wait_for_log("reload failed, the running code goes on: cannot run");
    assert_eq!(weft.get("/").text(), "served");
    // The same for a binary that has been replaced meanwhile.
    install(weft.directory());
    checking(&weft, 3);
    write_program(&binary, &b"#!/bin/sh\nexit 0\n"[..]);
    std::fs::remove_file(weft.path("hold")).unwrap();
    weft.wait_for_log("was replaced while it was checked");
    assert_eq!(weft.get("/").text(), "served");
    assert!(weft.is_alive());
    install(weft.directory());
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    assert_eq!(weft.get("/").text(), "served");
}
