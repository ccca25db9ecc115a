//! The error log and the access log.

use rustix::process::Signal;
use weft_tests::until;

use crate::server;

#[test]
fn the_access_log_has_a_line_per_request() {
    let weft = server().with("--access-log", "access.log").start();
    let mut client = weft.connect();
    client.send("GET /a?b HTTP/1.1\r\nHost: a\r\nUser-Agent: te\"st\r\nReferer: r\r\n\r\n");
    assert_eq!(client.read().status, 200);
    client.send("HEAD / HTTP/1.0\r\n\r\n");
    assert_eq!(client.read_of_head().status, 200);
    let log = until("two lines", || Some(weft.read("access.log")).filter(|log| log.lines().count() == 2));
    let (first, second) = log.split_once('\n').expect("two lines");
    assert!(first.starts_with("127.0.0.1 - - ["), "{first}");
    assert!(first.contains("\"GET /a?b HTTP/1.1\" 200 ") && first.contains("\"r\" \"te\\x22st\""), "{first}");
    assert!(second.contains("\"HEAD / HTTP/1.0\" 200 0 \"-\" \"-\""), "{second}");
}

#[test]
fn logs_as_json() {
    let app = "return function ($r) { trigger_error('said by PHP', E_USER_WARNING); return $r->id(); };";
    let weft = weft_tests::Server::new(app)
        .with("--access-log", "access.log")
        .with("--access-log-format", "json")
        .with("--error-log", "error.log")
        .with("--log-format", "json")
        .start();
    let id = weft.get("/x?y=%22").text();
    let line = until("a line", || Some(weft.read("access.log")).filter(|log| log.ends_with('\n')));
    let access: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        (&access["method"], &access["target"], &access["status"]),
        (&"GET".into(), &"/x?y=%22".into(), &200.into())
    );
    assert_eq!(access["request_id"], id);
    let errors =
        until("the warning", || Some(weft.read("error.log")).filter(|log| log.contains("said by PHP")));
    for line in errors.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(entry["level"].is_string() && entry["message"].is_string(), "{line}");
    }
}

#[test]
fn sigusr1_reopens_the_logs() {
    let mut weft = server()
        .with("--workers", "2")
        .with("--access-log", "access.log")
        .with("--error-log", "error.log")
        .start();
    assert_eq!(weft.get("/before").status, 200);
    until("the first line", || weft.read("access.log").contains("/before").then_some(()));
    std::fs::rename(weft.path("access.log"), weft.path("access.log.1")).unwrap();
    std::fs::rename(weft.path("error.log"), weft.path("error.log.1")).unwrap();
    weft.signal(Signal::USR1);
    until("the new error log", || weft.read("error.log").contains("log files reopened").then_some(()));
    // Each worker opens the new file when it is told to; until then it writes to the old one.
    let mut sent = 0;
    until("a line in the new access log", || {
        assert_eq!(weft.get(&format!("/after-{sent}")).status, 200);
        sent += 1;
        weft.read("access.log").contains("/after-").then_some(())
    });
    until("every line in one of the two", || {
        let both = weft.read("access.log.1") + &weft.read("access.log");
        (0..sent).all(|n| both.contains(&format!("/after-{n} "))).then_some(())
    });
    assert!(weft.is_alive());
}

#[test]
fn a_log_that_takes_nothing_never_blocks_a_worker() {
    let server = server();
    let fifo = server.directory().join("access.fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    // Opened so that the server can open its end, and never read.
    let _reader = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
    let weft = server
        .with("--access-log", &fifo.display().to_string())
        .with("--log-queue-bytes-max", "4KiB")
        .start();
    let mut client = weft.connect();
    let long = "x".repeat(4000);
    for _ in 0..200 {
        client.get(&format!("/{long}"));
        assert_eq!(client.read().status, 200);
    }
}
