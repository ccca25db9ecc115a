//! Links that the workers' user places in directories it can write to, to mislead a master that runs as root.
//!
//! Only root has privileges to lose. For other users, the tests of `crates/weft/src/guarded_path.rs` show the same with a
//! stranger's links.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use weft_tests::{Server, until};

use crate::server;

/// www-data, on Debian.
const WORKERS: u32 = 33;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A server whose directory everybody can read, with a directory `own` that belongs to its workers' user.
fn with_own_directory(server: Server) -> Server {
    let own = server.directory().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::set_permissions(server.directory(), PermissionsExt::from_mode(0o755)).unwrap();
    chown(own, Some(WORKERS), Some(WORKERS)).unwrap();
    server.with("--user", "www-data")
}

/// A file of root that other users cannot read.
fn secret(directory: &Path) -> PathBuf {
    let path = directory.join("secret");
    std::fs::write(&path, "secret").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

/// Asserts that the file is unchanged, although links led to it.
fn assert_untouched(secret: &Path) {
    let found = secret.metadata().unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (0, 0, 0o600));
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
}

/// In one step: weft may write the file anew between a removal and a link.
fn replace_by_link(path: &Path, target: &Path) {
    let beside = path.with_extension("link");
    symlink(target, &beside).unwrap();
    std::fs::rename(beside, path).unwrap();
}

#[test]
fn logs_are_not_led_elsewhere_when_they_are_reopened() {
    if !is_root() {
        return;
    }
    let server = with_own_directory(server())
        .with("--access-log", "own/access.log")
        .with("--error-log", "own/error.log");
    let secret = secret(server.directory());
    let weft = server.start();
    for name in ["own/access.log", "own/error.log"] {
        assert_eq!(weft.path(name).metadata().unwrap().uid(), WORKERS, "{name}");
    }
    let error_log = std::fs::File::open(weft.path("own/error.log")).unwrap();
    let said = || std::io::read_to_string(&error_log).unwrap();
    for target in [secret.clone(), weft.path("made-by-root")] {
        for name in ["own/access.log", "own/error.log"] {
            replace_by_link(&weft.path(name), &target);
        }
        weft.signal(Signal::USR1);
        let mut log = String::new();
        until("the refusals", || {
            log += &said();
            let refused = |name: &str| {
                log.contains(&format!("{name}: {name_of} is a symbolic link", name_of = &name[4..]))
            };
            (log.contains("log files reopened") && refused("own/access.log") && refused("own/error.log"))
                .then_some(())
        });
        assert_untouched(&secret);
        assert!(!weft.path("made-by-root").exists());
    }
    assert_eq!(weft.get("/").status, 200);
}

#[test]
fn a_log_that_was_there_keeps_its_owner() {
    if !is_root() {
        return;
    }
    let server = with_own_directory(server()).with("--access-log", "access.log");
    let log = server.directory().join("access.log");
    std::fs::write(&log, "").unwrap();
    std::fs::set_permissions(&log, PermissionsExt::from_mode(0o666)).unwrap();
    let weft = server.start();
    assert_eq!(weft.get("/").status, 200);
    until("a line", || weft.read("access.log").contains("GET /").then_some(()));
    assert_eq!(log.metadata().unwrap().uid(), 0);
}

#[test]
fn the_pid_file_and_its_state_are_not_led_elsewhere() {
    if !is_root() {
        return;
    }
    let server = with_own_directory(server()).with("--pid-file", "own/weft.pid");
    let secret = secret(server.directory());
    let mut weft = server.start();
    let new = weft.path("own/weft.pid.state.new");
    // The state of the start may still be on its way through this name.
    until("the state to be there", || {
        (weft.path("own/weft.pid.state").exists() && !new.exists()).then_some(())
    });
    symlink(&secret, new).unwrap();
    let outcome = weft.weft(&["reload", "--pid-file=own/weft.pid"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_untouched(&secret);
    // Until then its death makes the master write the state once more, in the middle of the next step.
    weft.wait_for_log("generation 1) has drained");
    replace_by_link(&weft.path("own/weft.pid.state"), &secret);
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 3 is ready");
    assert_untouched(&secret);
    weft.signal(Signal::TERM);
    assert!(weft.wait().success());
    // A start neither locks nor writes the file that a link leads to.
    symlink(&secret, weft.path("own/weft.pid")).unwrap();
    let arguments =
        ["serve", "app.php", "--listen=127.0.0.1:0", "--pid-file=own/weft.pid", "--user=www-data"];
    let outcome = weft.weft(&arguments);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot write the pid file"), "{outcome:?}");
    assert_untouched(&secret);
}

#[test]
fn a_sockets_permission_bits_are_not_given_to_another_file() {
    if !is_root() {
        return;
    }
    let settings =
        |mode: &str| format!("[server]\nlisten = [\"127.0.0.1:0\", \"unix:own/weft.sock,mode={mode}\"]\n");
    let server = with_own_directory(server().with_file("weft.toml", &settings("0660")));
    let secret = secret(server.directory());
    let mut weft = server.listening_as_configured().start();
    let socket = weft.path("own/weft.sock");
    assert_eq!(socket.symlink_metadata().unwrap().mode() & 0o777, 0o660);
    weft.write("weft.toml", &settings("0600"));
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    assert_eq!(socket.symlink_metadata().unwrap().mode() & 0o777, 0o600);
    replace_by_link(&socket, &secret);
    weft.write("weft.toml", &settings("0666"));
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload failed, the running code goes on: cannot listen on unix:own/weft.sock");
    assert_untouched(&secret);
    assert_eq!(weft.get("/").status, 200);
}
