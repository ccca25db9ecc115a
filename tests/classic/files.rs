//! Files of a document root, sent without PHP.

use weft_tests::{Running, Server};

use super::ask;

fn site() -> Running {
    Server::of_docroot(&[
        ("a.css", "body { color: red }"),
        ("b.js", "let x;"),
        ("c.svg", "<svg/>"),
        ("d.unknown", "?"),
        ("e.json", "{}"),
        ("empty.txt", ""),
    ])
    .start()
}

#[test]
fn types_go_by_the_name() {
    let weft = site();
    for (path, expected) in [
        ("/a.css", "text/css; charset=utf-8"),
        ("/b.js", "text/javascript; charset=utf-8"),
        ("/c.svg", "image/svg+xml"),
        ("/d.unknown", "application/octet-stream"),
        ("/e.json", "application/json"),
    ] {
        assert_eq!(weft.get(path).header("content-type"), Some(expected), "{path}");
    }
    assert_eq!(weft.get("/empty.txt").body, b"");
}

#[test]
fn conditions_and_ranges_are_obeyed() {
    let weft = site();
    let whole = weft.get("/a.css");
    let (etag, modified) =
        (whole.header("etag").expect("an ETag"), whole.header("last-modified").expect("a date"));
    assert_eq!(ask(&weft, "GET", "/a.css", &format!("If-None-Match: {etag}\r\n")).status, 304);
    assert_eq!(ask(&weft, "GET", "/a.css", &format!("If-Modified-Since: {modified}\r\n")).status, 304);
    let part = ask(&weft, "GET", "/a.css", "Range: bytes=0-3\r\n");
    assert_eq!((part.status, part.text().as_str()), (206, "body"));
    assert_eq!(ask(&weft, "GET", "/a.css", "Range: bytes=100-\r\n").status, 416);
    let head = ask(&weft, "HEAD", "/a.css", "");
    assert_eq!(head.header("content-length"), Some("19"));
}

#[test]
fn only_get_and_head_are_for_files() {
    let weft = site();
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let response = ask(&weft, method, "/a.css", "Content-Length: 0\r\n");
        assert_eq!((response.status, response.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
}

#[test]
fn what_is_no_regular_file_is_not_sent() {
    let weft = site();
    let made =
        std::process::Command::new("mkfifo").arg(weft.path("public/pipe.txt")).status().expect("mkfifo runs");
    assert!(made.success());
    assert_eq!(weft.get("/pipe.txt").status, 404);
    let _socket = std::os::unix::net::UnixListener::bind(weft.path("public/s.txt")).expect("a socket");
    assert_eq!(weft.get("/s.txt").status, 404);
}
