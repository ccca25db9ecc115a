//! The privileges with which the application's code runs: never those of a master that is root.
//!
//! Root starts its server with workers of another user. Other users have only one identity and are their own workers'
//! user: the same tests then show that naming oneself works.

use rustix::process::Signal;
use weft_tests::{Server, command, weft};

/// Notes the user at each boot, then serves.
const NOTES: &str = "file_put_contents('boots', implode(' ', [posix_geteuid(), posix_getuid(), posix_getegid(), \
    ...posix_getgroups()]) . \"\\n\", FILE_APPEND);";

/// The workers' user, and the note that each boot must leave.
pub fn user() -> (String, String) {
    let other = rustix::process::geteuid().is_root().then_some("www-data");
    let id = |flag: &str| {
        let output = std::process::Command::new("id").arg(flag).args(other).output().expect("id(1)");
        String::from_utf8(output.stdout).expect("text").trim().to_string()
    };
    (id("-un"), format!("{0} {0} {1} {2}\n", id("-u"), id("-g"), id("-G")))
}

/// Everybody can read the server's directory, and everybody can write to the file of notes.
fn open_to_all(server: Server) -> Server {
    let server = server.with_file("boots", "");
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    std::fs::set_permissions(server.directory(), mode(0o755)).unwrap();
    std::fs::set_permissions(server.directory().join("boots"), mode(0o666)).unwrap();
    server
}

#[test]
fn a_reload_boots_the_application_with_the_workers_rights() {
    let (user, noted) = user();
    let app = format!("{NOTES} return fn () => 'ok';");
    let mut weft = open_to_all(Server::new(&app)).with("--user", &user).start();
    assert_eq!(weft.read("boots"), noted);
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    // The first worker, the check, and the new worker.
    assert_eq!(weft.read("boots"), noted.repeat(3));
}

#[test]
fn a_reload_loads_a_worker_script_with_the_workers_rights() {
    let (user, noted) = user();
    let script =
        format!("<?php {NOTES} while (frankenphp_handle_request(function () {{ echo 'ok'; }})) {{}}");
    let server = open_to_all(Server::of_script("worker.php", &script));
    let mut weft = server.with("--user", &user).with("--instances", "1").start();
    assert_eq!(weft.get("/").text(), "ok");
    let before = weft.read("boots");
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    assert_eq!(weft.get("/").text(), "ok");
    let after = weft.read("boots");
    assert!(after.len() >= before.len() + 2 * noted.len(), "{after}");
    assert_eq!(after, noted.repeat(after.len() / noted.len()));
}

#[test]
fn check_gives_up_roots_rights_before_it_boots_the_application() {
    let (user, noted) = user();
    let directory = tempfile::Builder::new().prefix("weft-test-").tempdir().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    std::fs::set_permissions(directory.path(), mode(0o755)).unwrap();
    let file = |name: &str, text: &str, bits| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, mode(bits)).unwrap();
    };
    file("boots", "", 0o666);
    file("app.php", &format!("<?php {NOTES} return fn () => 'ok';"), 0o644);
    // Files that only the operator can read are read first.
    file("weft.toml", &format!("[server]\napplication = \"app.php\"\nuser = \"{user}\"\n"), 0o600);
    let outcome = weft(directory.path(), &["check"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(directory.path().join("boots")).unwrap(), noted);
    if rustix::process::geteuid().is_root() {
        // Files that workers cannot read are reported before privileges are dropped.
        file("app.php", "<?php return fn () => 'ok';", 0o600);
        let outcome = command::weft(directory.path(), &["check"]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains("app.php"), "{outcome:?}");
    }
}

#[test]
fn a_configuration_that_the_workers_user_can_write_is_not_believed() {
    if !rustix::process::geteuid().is_root() {
        return; // without root, no other user is available
    }
    let (user, _) = user();
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    let mut weft = open_to_all(Server::new("return fn () => 'ok';")).with("--user", &user).start();
    // A worker could write this file into a directory of its user; the next reload would then read it as root.
    weft.write("weft.toml", "[limits]\nqueue_max = 9\n");
    std::fs::set_permissions(weft.path("weft.toml"), mode(0o666)).unwrap();
    let reloaded = weft.weft(&["check", "app.php", "--user", &user]);
    assert_ne!(reloaded.code, Some(0));
    assert!(reloaded.stderr.contains("weft.toml: user www-data"), "{}", reloaded.stderr);
    weft.signal(Signal::HUP);
    weft.wait_for_log("weft.toml: user www-data");
    assert_eq!(weft.get("/").text(), "ok");
    std::fs::set_permissions(weft.path("weft.toml"), mode(0o644)).unwrap();
    std::fs::write(weft.path("weft.toml"), "[limits]\nqueue_max = 7\n").unwrap();
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
}
