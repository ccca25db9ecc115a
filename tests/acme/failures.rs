//! What happens when a name cannot be certified: one clear line, a pause that outlives a restart, and other names go on.

use weft_tests::services::free_port;
use weft_tests::wait::until;
use weft_tests::{Server, command};

use crate::{APP, DAYS_90, Place, served};

#[test]
fn a_refusal_is_one_line_and_a_restart_does_not_ask_again() {
    let place = Place::new(DAYS_90, 0);
    place.pebble.lead("lost.example", "127.0.0.2");
    let mut weft =
        place.server("lost.example").with("--listen", &format!("https://a.example:{}", place.tls)).start();
    weft.wait_for_log("lost.example is not certified: ");
    weft.wait_for_log("next attempt in 15 min");
    let log = weft.log();
    let line = log.lines().find(|line| line.contains("lost.example is not certified")).expect("it is there");
    assert!(line.contains("the authority must reach this server at the name's ports 80 and 443"), "{line}");
    // The other name has nothing to do with it.
    served(&weft, place.tls_address(), "a.example");
    let orders = place.pebble.orders();
    assert_eq!(orders, 2);
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
    let kept = std::fs::read_to_string(place.kept("lost.example.json")).expect("what is remembered");
    assert!(kept.contains("\"failures\": 1"), "{kept}");
    let second =
        place.server("lost.example").with("--listen", &format!("https://b.example:{}", place.tls)).start();
    served(&second, place.tls_address(), "b.example");
    assert_eq!(place.pebble.orders(), orders + 1, "only the new name was asked for");
}

#[test]
fn a_failure_of_one_way_is_answered_with_the_other() {
    let place = Place::new(DAYS_90, 0);
    // Nobody listens where the authority asks without TLS.
    let server = || {
        place
            .with_authority(Server::new(APP))
            .with("--listen", &format!("https://a.example:{}", place.tls))
            .with("--listen", &format!("127.0.0.1:{}", free_port()))
    };
    let mut weft = server().start();
    weft.wait_for_log("a.example is not certified: ");
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
    // As if the pause were over.
    let state = place.kept("a.example.json");
    let text = std::fs::read_to_string(&state).expect("what is remembered");
    let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    value["not_before"] = 0.into();
    std::fs::write(&state, value.to_string()).expect("the test's own storage");
    let weft = server().start();
    served(&weft, place.tls_address(), "a.example");
}

#[test]
fn who_cannot_be_reached_or_trusted_is_named() {
    let nobody = format!("https://localhost:{}/dir", free_port());
    let place = Place::new(DAYS_90, 0);
    let other = place.with_authority(Server::new(APP));
    let ca = format!("{}/pebble.pem", other.directory().display());
    for (directory, expected) in [
        (nobody.as_str(), "the authority cannot be reached: "),
        ("https://nobody.invalid/dir", "its name has no address: check acme.directory and this host's DNS"),
        (place.pebble.directory.as_str(), "its own certificate is not trusted"),
    ] {
        let mut weft = Server::new(APP)
            .with("--listen", "https://a.example:0")
            .with("--acme-directory", directory)
            .with("--acme-storage", "storage")
            .with("--acme-ca", &ca)
            .start();
        weft.wait_for_log("a.example is not certified: ");
        weft.wait_for_log(expected);
        weft.wait_for_log("next attempt in 1 min\n");
    }
}

#[test]
fn a_storage_that_others_may_change_is_refused_at_the_start() {
    let server = Server::new(APP);
    let storage = server.directory().join("storage/acme.example-dir");
    std::fs::create_dir_all(&storage).expect("a new directory");
    std::fs::set_permissions(&storage, std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("it is ours");
    let said = command::weft(
        server.directory(),
        &[
            "serve",
            "app.php",
            "--listen=https://a.example:0",
            "--acme-storage=storage",
            "--acme-directory=https://acme.example/dir",
        ],
    );
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("other users may change the certificates there"), "{}", said.stderr);
}

#[test]
fn mistakes_of_the_settings_are_refused() {
    let server = Server::new(APP);
    for (flags, expected) in [
        (
            &["--listen=https://a.example", "--acme-terms-agreed=false"][..],
            "acme.terms_agreed is false, so a.example gets no certificate",
        ),
        (
            &["--listen=https://a.example", "--acme-directory=http://a"],
            "expected the https:// URL of an ACME directory",
        ),
        (&["--listen=https://a.example", "--acme-contact=nobody"], "expected an e-mail address"),
        (&["--listen=https://*.a.example"], "an address has one host name"),
        (&["--listen=https://127.0.0.1:0"], "listen on https://NAME"),
    ] {
        let arguments: Vec<&str> = ["check", "app.php"].iter().chain(flags).copied().collect();
        let said = command::weft(server.directory(), &arguments);
        assert_eq!(said.code, Some(1), "{}", said.stdout);
        assert!(said.stderr.contains(expected), "{}", said.stderr);
    }
    until("nothing is left", || (!server.directory().join("storage").exists()).then_some(()));
}
