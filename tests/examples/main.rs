//! The applications in examples/: each is short and does what its first lines say.

mod push;

use std::path::{Path, PathBuf};

use serde_json::json;
use weft_tests::{Running, Server, until};

/// The maximum length of a numbered example, in lines.
const LINES_MAX: usize = 40;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn source(name: &str) -> String {
    let directory = examples().join(name);
    let docroot = directory.join("public/index.php");
    let path = if docroot.exists() { docroot } else { directory.join("app.php") };
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The example, to be started in its own directory.
fn example(name: &str) -> Server {
    let source = source(name);
    Server::new(source.strip_prefix("<?php").expect("an example begins with PHP's opening tag"))
}

fn upload(weft: &Running, contents: &str) -> weft_tests::Response {
    let body = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"p.jpg\"\r\n\
         Content-Type: image/jpeg\r\n\r\n{contents}\r\n--XX--\r\n"
    );
    let mut client = weft.connect();
    client.post("/", "multipart/form-data; boundary=XX", body);
    client.read()
}

#[test]
fn numbered_examples_are_short_and_each_is_tested_here() {
    let mut names: Vec<String> = std::fs::read_dir(examples())
        .expect("examples/")
        .map(|entry| entry.expect("an entry can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "01-hello",
            "02-json",
            "03-stream",
            "04-upload",
            "05-wait",
            "06-scope",
            "07-classic",
            "popup",
            "push",
            "site"
        ]
    );
    for name in names.iter().filter(|name| name.starts_with(|first: char| first.is_ascii_digit())) {
        let lines = source(name).lines().count();
        assert!(lines <= LINES_MAX, "{name} has {lines} lines");
    }
}

#[test]
fn hello() {
    let weft = example("01-hello").start();
    assert_eq!(weft.get("/").text(), "Hello World\n");
    assert_eq!(weft.get("/?name=%3CAda%3E").text(), "Hello &lt;Ada&gt;\n");
}

#[test]
fn json_service() {
    let server = example("02-json");
    let database = server.directory().join("tasks.sqlite");
    let weft = server.with_variable("TASKS_DATABASE", &database.display().to_string()).start();
    assert_eq!(weft.get("/tasks").json(), json!([]));
    let mut client = weft.connect();
    client.post("/tasks", "application/json", r#"{"title":"Buy milk"}"#);
    let response = client.read();
    assert_eq!((response.status, response.json()), (201, json!({"id": 1, "title": "Buy milk"})));
    client.post("/tasks", "application/json", "{");
    let response = client.read();
    assert_eq!(response.status, 400);
    assert!(response.json()["error"].as_str().is_some_and(|text| text.starts_with("the body is not JSON: ")));
    client.post("/tasks", "application/json", "{}");
    assert_eq!(client.read().status, 422);
    assert_eq!(weft.get("/tasks").json(), json!([{"id": 1, "title": "Buy milk"}]));
    assert_eq!(weft.get("/other").status, 404);
}

#[test]
fn stream() {
    let weft = example("03-stream").start();
    let response = weft.get("/?ticks=3&pause_ms=1");
    assert!(response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")));
    assert_eq!(response.text(), "event: tick\ndata: 1\n\nevent: tick\ndata: 2\n\nevent: tick\ndata: 3\n\n");
    assert_eq!(response.chunks.len(), 3, "each event is sent when it happens");
}

#[test]
fn upload_and_download() {
    let server = example("04-upload");
    let directory = server.directory().join("uploads");
    let weft = server.with_variable("UPLOADS", &directory.display().to_string()).start();
    assert!(weft.get("/").text().contains("<form method=\"post\""));
    let response = upload(&weft, "0123456789");
    let location = response.header("location").expect("where it is").to_string();
    assert_eq!((response.status, response.text()), (201, format!("{location} (10 bytes)\n")));
    assert_eq!(weft.get(&location).text(), "0123456789");
    let part = weft.say(format!("GET {location} HTTP/1.1\r\nHost: a\r\nRange: bytes=3-5\r\n\r\n"));
    assert_eq!((part.status, part.text().as_str()), (206, "345"));
    let mut client = weft.connect();
    client.post("/", "application/x-www-form-urlencoded", "picture=text");
    assert_eq!(client.read().status, 422);
}

#[test]
fn document_root() {
    let source = source("07-classic");
    let style =
        std::fs::read_to_string(examples().join("07-classic/public/style.css")).expect("its style sheet");
    let weft = Server::of_docroot(&[("index.php", &source), ("style.css", &style)]).start();
    let first = weft.get("/");
    assert_eq!((first.status, first.header("location")), (302, Some("/notes")));
    let cookie =
        first.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a session").to_owned();
    let ask = |request: &str, body: &str| {
        weft.say(format!("{request} HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                          Content-Length: {}\r\n\r\n{body}", body.len()))
    };
    assert_eq!(ask("POST /notes", "note=%3CMilk%3E").status, 302);
    assert!(ask("GET /notes", "").text().contains("<li>&lt;Milk&gt;</li>"));
    assert!(!weft.get("/notes").text().contains("Milk"), "another visitor has another list");
    assert_eq!((weft.get("/style.css").text(), weft.get("/other").status), (style, 404));
}

#[test]
fn waiting_for_itself() {
    let weft = example("05-wait").start();
    let mut clients: Vec<_> = (0..50).map(|_| weft.connect()).collect();
    for client in &mut clients {
        client.send(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", weft.address));
    }
    for client in &mut clients {
        let text = client.read().text();
        assert!(text.starts_with("slow answer after "), "{text}");
    }
}

#[test]
fn scope() {
    let weft = example("06-scope").start();
    let ask = |target: &str| weft.say(format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", weft.address));
    // One after another they would take 500 ms each time. A busy machine may need another look.
    until("ten waits of 50 ms that end together", || {
        let page = ask("/").json();
        assert_eq!(page["prices"], json!([100, 101, 102, 103, 104, 105, 106, 107, 108, 109]));
        page["milliseconds"].as_u64().is_some_and(|ms| ms < 250).then_some(())
    });
    let failed = ask("/?first=5");
    assert_eq!(failed.status, 502);
    assert_eq!(failed.json()["error"], "The requested URL returned error: 404");
}

#[test]
fn site() {
    let weft = example("site").start();
    let ask = |target: &str| weft.say(format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", weft.address));
    let page = ask("/");
    assert_eq!(page.status, 200);
    assert!(page.text().contains("<title>weft</title>") && page.text().contains("127.0.0.1"));
    assert!(ask("/waits").text().parse::<u32>().is_ok());
    assert_eq!(ask("/wait").text(), "waited");
    assert!(ask("/ticks").text().ends_with("data: 10\n\n"));
    assert_eq!(ask("/nothing").status, 404);
}
