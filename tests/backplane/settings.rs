//! What an operator is told before anything starts.

use weft_tests::command;

#[test]
fn a_wrong_address_is_refused_with_the_reason_and_without_the_password() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("app.php"), "<?php return fn () => '';")
        .expect("the test's own file");
    for (url, why) in [
        ("localhost:6379", "expected redis://HOST:PORT or nats://HOST:PORT"),
        ("amqp://:se-cret@localhost", "expected redis://HOST:PORT or nats://HOST:PORT"),
        ("redis://:se-cret@localhost:0", "localhost:0 has no valid port"),
        ("redis://:se-cret@localhost/db", "/db is no number of a database"),
        ("nats://weft:se-cret@localhost/x", "a NATS server has no path"),
        ("nats://", "names no host"),
    ] {
        let mut check = command::command(directory.path());
        let said = command::finish(check.args(["check", "app.php", "--topics-backplane", url]));
        assert_ne!(said.code, Some(0), "{url}");
        assert!(
            said.stderr.contains(why) && said.stderr.contains("topics-backplane"),
            "{url}: {}",
            said.stderr
        );
        assert!(!said.stderr.contains("se-cret"), "{}", said.stderr);
    }
    let mut check = command::command(directory.path());
    let said =
        command::finish(check.args(["check", "app.php", "--topics-backplane", "redis://nowhere.example"]));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}
