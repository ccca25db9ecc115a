//! How names are certified: by both challenges, for addresses and sites, once for all hosts.

use std::os::unix::fs::PermissionsExt;

use weft_tests::Server;
use weft_tests::services::free_port;
use weft_tests::wait::until;

use crate::{APP, DAYS_90, Place, serial, served, try_curl};

#[test]
fn a_name_is_certified_once_and_kept_for_the_next_start() {
    let place = Place::new(DAYS_90, 20);
    let mut weft = place.server("a.example").start();
    assert!(served(&weft, place.tls_address(), "a.example").starts_with("on a.example"));
    weft.wait_for_log("a.example has a new certificate");
    for (file, mode) in [("a.example.pem", 0o600), ("account.json", 0o600), ("challenges", 0o755)] {
        let found = std::fs::metadata(place.kept(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(found.permissions().mode() & 0o777, mode, "{file}");
    }
    let left = std::fs::read_dir(place.kept("challenges")).expect("its directory").count();
    assert_eq!(left, 0, "an answer is gone once the authority has asked");
    let before = serial(place.tls_address(), "a.example");
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
    let second = place.server("a.example").start();
    assert!(served(&second, place.tls_address(), "a.example").starts_with("on a.example"));
    assert_eq!(serial(place.tls_address(), "a.example"), before);
    assert_eq!(place.pebble.orders(), 1);
}

#[test]
fn without_an_address_for_plain_http_the_handshake_is_the_proof() {
    let place = Place::new(DAYS_90, 0);
    let server = place.with_authority(Server::new(APP));
    let weft = server.with("--listen", &format!("https://a.example:{}", place.tls)).start();
    served(&weft, place.tls_address(), "a.example");
    // Whoever else asks for that protocol gets nothing.
    let asked = std::process::Command::new("openssl")
        .args(["s_client", "-alpn", "acme-tls/1", "-servername", "a.example", "-connect"])
        .arg(place.tls_address().to_string())
        .stdin(std::process::Stdio::null())
        .output()
        .expect("openssl");
    assert!(!asked.status.success());
}

#[test]
fn sites_without_files_are_certified_name_by_name() {
    let place = Place::new(DAYS_90, 0);
    let sites = format!(
        r#"
        [server]
        listen = ["https://127.0.0.1:{}", "127.0.0.1:{}"]
        workers = 2

        [tls]
        redirect = true

        [[site]]
        names = ["one.example", "www.one.example"]
        root = "one"

        [[site]]
        names = ["two.example"]
        root = "two"
        "#,
        place.tls, place.http
    );
    let server = Server::configured()
        .listening_as_configured()
        .with_file("weft.toml", &sites)
        .with_file("one/index.php", "<?= 'one ', $_SERVER['HTTP_HOST'];")
        .with_file("two/index.php", "<?= 'two ', $_SERVER['HTTP_HOST'];");
    let weft = place.with_authority(server).start();
    for (name, expected) in [
        ("one.example", "one one.example"),
        ("www.one.example", "one www.one.example"),
        ("two.example", "two two.example"),
    ] {
        assert_eq!(served(&weft, place.tls_address(), name), expected);
    }
    let serials: std::collections::BTreeSet<String> = ["one.example", "www.one.example", "two.example"]
        .map(|name| serial(place.tls_address(), name))
        .into();
    assert_eq!((serials.len(), place.pebble.orders()), (3, 3));
    // What is not the authority's question goes its usual way.
    let plain = ([127, 0, 0, 1], place.http).into();
    for path in ["/", "/.well-known/acme-challenge/nothing"] {
        let said =
            try_curl(&weft, plain, &format!("http://two.example{path}"), &["-D", "-", "-o", "/dev/null"]);
        let location = format!("https://two.example:{}{path}", place.tls);
        assert!(
            said.stdout.contains(&format!("location: {location}").to_lowercase())
                || said.stdout.contains(&format!("Location: {location}")),
            "{}",
            said.stdout
        );
    }
}

#[test]
fn two_hosts_that_share_the_storage_make_one_order() {
    let place = Place::new(DAYS_90, 20);
    let other_tls = free_port();
    let one = place.server("a.example").start();
    let other = place
        .with_authority(Server::new(APP))
        .with("--listen", &format!("https://a.example:{other_tls}"))
        .with("--listen", "127.0.0.1:0")
        .start();
    served(&one, place.tls_address(), "a.example");
    let second = ([127, 0, 0, 1], other_tls).into();
    served(&other, second, "a.example");
    assert_eq!(serial(place.tls_address(), "a.example"), serial(second, "a.example"));
    assert_eq!(place.pebble.orders(), 1, "{}", place.pebble.log());
}

#[test]
fn check_says_what_would_be_asked_for_and_asks_nobody() {
    let place = Place::new(DAYS_90, 0);
    let server = place.server("a.example");
    let directory = server.directory().to_owned();
    let said = weft_tests::command::weft(
        &directory,
        &[
            "check",
            "app.php",
            "--listen=https://a.example",
            "--acme-storage=storage",
            "--acme-directory",
            &place.pebble.directory,
        ],
    );
    let expected =
        format!("a.example: would be asked for at {}, by HTTP-01 or TLS-ALPN-01", place.pebble.directory);
    assert!(said.stdout.contains(&expected), "{} {}", said.stdout, said.stderr);
    assert!(!directory.join("storage").exists());
    assert_eq!(place.pebble.orders(), 0);
    drop(server);
    until("no order", || (place.pebble.orders() == 0).then_some(()));
}

#[test]
fn workers_of_another_user_serve_what_only_root_can_read() {
    if !rustix::process::geteuid().is_root() {
        return; // without root, no other user is available
    }
    let place = Place::new(DAYS_90, 20);
    let server = place.server("a.example").with("--user", "www-data");
    let everybody = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("the test's own");
    };
    everybody(server.directory(), 0o755);
    let mut weft = server.start();
    // A worker answers the authority, and then has the key.
    assert!(served(&weft, place.tls_address(), "a.example").starts_with("on a.example"));
    weft.wait_for_log("a.example has a new certificate");
    // One that has just been forked is still root.
    let is_root = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.contains("\nUid:\t0")
    };
    until("every worker to be another user", || {
        let workers = weft.workers();
        (!workers.is_empty() && !workers.into_iter().any(is_root)).then_some(())
    });
    for (file, mode) in
        [("", 0o700), ("a.example.pem", 0o600), ("account.json", 0o600), ("challenges", 0o755)]
    {
        let found = std::fs::metadata(place.kept(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let owner = std::os::unix::fs::MetadataExt::uid(&found);
        assert_eq!((owner, found.permissions().mode() & 0o777), (0, mode), "{file}");
    }
    // What a reload and the next start read is root's, too.
    weft.signal(rustix::process::Signal::HUP);
    weft.wait_for_log("reload: generation 3 is ready");
    assert!(served(&weft, place.tls_address(), "a.example").starts_with("on a.example"));
    // A storage that the workers could change is not used.
    drop(weft);
    let place = Place { storage: tempfile::tempdir().expect("a temporary directory"), ..place };
    std::fs::create_dir(place.kept("")).expect("a new directory");
    everybody(&place.kept(""), 0o777);
    let open = place.server("a.example").with("--user", "www-data");
    everybody(open.directory(), 0o755);
    let mut refused = open.spawn();
    refused.wait_for_log("other users may change the certificates there");
    assert!(!refused.wait().success());
}
