//! Files of a document root, which weft sends without PHP.

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
        ("/a.css", "text/css"),
        ("/b.js", "application/javascript"),
        ("/c.svg", "image/svg+xml"),
        ("/d.unknown", "application/octet-stream"),
        ("/e.json", "application/json"),
    ] {
        assert_eq!(weft.get(path).header("content-type"), Some(expected), "{path}");
    }
    assert_eq!(weft.get("/empty.txt").body, b"");
}

#[test]
fn types_are_those_of_nginx() {
    let list = std::fs::read_to_string("/etc/nginx/mime.types").expect("nginx is installed");
    let inner = list.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).expect("types { … }").0;
    let rows = inner.split(';').map(|row| row.split_whitespace().collect::<Vec<_>>());
    let types: Vec<(&str, &str)> =
        rows.flat_map(|row| row.iter().skip(1).map(|end| (*end, row[0])).collect::<Vec<_>>()).collect();
    assert!(types.len() > 100, "{types:?}");
    let server = Server::of_docroot(&[]);
    for (ending, _) in &types {
        std::fs::write(server.directory().join(format!("public/a.{ending}")), "x").expect("a file");
    }
    let weft = server.start();
    let differing: Vec<_> = types
        .iter()
        .map(|(ending, kind)| (ending, kind, weft.get(&format!("/a.{ending}"))))
        .filter(|(_, kind, file)| (file.header("content-type"), file.header("vary")) != (Some(*kind), None))
        .map(|(ending, kind, file)| (ending, kind, file.status_line))
        .collect();
    assert!(differing.is_empty(), "{differing:?}");
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
fn only_regular_files_are_sent() {
    let weft = site();
    let made =
        std::process::Command::new("mkfifo").arg(weft.path("public/pipe.txt")).status().expect("mkfifo runs");
    assert!(made.success());
    assert_eq!(weft.get("/pipe.txt").status, 404);
    let _socket = std::os::unix::net::UnixListener::bind(weft.path("public/s.txt")).expect("a socket");
    assert_eq!(weft.get("/s.txt").status, 404);
}

/// The body as a client decodes it, for these accepted codings, and the coding of the response; `varies`: for every client.
fn decoded_if(weft: &Running, path: &str, codings: &str, varies: bool) -> (String, Option<String>) {
    let response = ask(weft, "GET", path, &format!("Accept-Encoding: {codings}\r\n"));
    let vary = varies.then_some("Accept-Encoding");
    assert_eq!((response.status, response.header("vary")), (200, vary), "{path} {codings}");
    let url = format!("http://{}{path}", weft.address);
    let curl = std::process::Command::new("curl")
        .args(["--silent", "--compressed", "--header", &format!("Accept-Encoding: {codings}"), &url])
        .output()
        .expect("curl runs");
    let text = String::from_utf8(curl.stdout).expect("the test's files are text");
    (text, response.header("content-encoding").map(str::to_owned))
}

fn decoded(weft: &Running, path: &str, codings: &str) -> (String, Option<String>) {
    decoded_if(weft, path, codings, true)
}

#[test]
fn text_is_compressed_in_the_coding_its_client_prefers() {
    let text = "words and words; ".repeat(1000);
    let weft =
        Server::of_docroot(&[("a.css", &text), ("small.css", "a{}"), ("a.png", &text), ("noise.txt", "x")])
            .start();
    for (codings, expected) in [
        ("gzip, deflate, br, zstd", Some("br")),
        ("gzip", Some("gzip")),
        ("zstd", Some("zstd")),
        ("br;q=0.5, gzip;q=0.9", Some("gzip")),
        ("identity", None),
        ("br;q=0", None),
    ] {
        for _ in 0..2 {
            assert_eq!(
                decoded(&weft, "/a.css", codings),
                (text.clone(), expected.map(str::to_owned)),
                "{codings}"
            );
        }
    }
    let small = decoded_if(&weft, "/small.css", "gzip", false);
    assert_eq!(small, ("a{}".to_owned(), None), "too small to gain anything");
    let image = ask(&weft, "GET", "/a.png", "Accept-Encoding: gzip\r\n");
    assert_eq!(
        (image.header("content-encoding"), image.header("vary"), image.body.len()),
        (None, None, text.len())
    );
    let plain = weft.get("/a.css");
    assert_eq!((plain.header("vary"), plain.body.len()), (Some("Accept-Encoding"), text.len()));
    let coded = ask(&weft, "GET", "/a.css", "Accept-Encoding: gzip\r\n");
    let etag = coded.header("etag").expect("an ETag");
    assert_ne!(Some(etag), plain.header("etag"), "two representations, two tags");
    assert!(coded.body.len() < text.len() / 10);
    let again = ask(&weft, "GET", "/a.css", &format!("Accept-Encoding: gzip\r\nIf-None-Match: {etag}\r\n"));
    assert_eq!((again.status, again.header("etag"), again.body.len()), (304, Some(etag), 0));
    let head = ask(&weft, "HEAD", "/a.css", "Accept-Encoding: gzip\r\n");
    assert_eq!(head.header("content-length"), coded.header("content-length"));
    let range = ask(&weft, "GET", "/a.css", "Accept-Encoding: gzip\r\nRange: bytes=0-3\r\n");
    assert_eq!(
        (range.status, range.body.len()),
        (200, coded.body.len()),
        "no part of what may come out otherwise"
    );
    weft.write("public/a.css", &"other text; ".repeat(500));
    assert_eq!(
        decoded(&weft, "/a.css", "br").0,
        "other text; ".repeat(500),
        "a changed file is compressed anew"
    );
}

#[test]
fn compressed_neighbours_are_sent_unless_they_are_stale() {
    let text = "let x = 1; ".repeat(500);
    let server = Server::of_docroot(&[("a.js", &text), ("b.js", &text)]);
    let public = server.directory().join("public");
    for name in ["a.js", "b.js"] {
        let made =
            std::process::Command::new("gzip").args(["--keep", "--best", name]).current_dir(&public).status();
        assert!(made.expect("gzip runs").success());
    }
    let old = std::fs::File::options().append(true).open(public.join("b.js.gz"));
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
    old.and_then(|file| file.set_modified(past)).expect("a file of the test's own");
    let size = std::fs::metadata(public.join("a.js.gz")).expect("it was made").len();
    let weft = server.with("--compress-bytes-min", "0").start();
    assert_eq!(decoded(&weft, "/a.js", "gzip, br"), (text.clone(), Some("gzip".to_owned())));
    let response = ask(&weft, "GET", "/a.js", "Accept-Encoding: gzip\r\n");
    assert_eq!(response.body.len() as u64, size);
    assert_eq!(response.header("content-type"), Some("application/javascript"));
    let part = ask(&weft, "GET", "/a.js", "Accept-Encoding: gzip\r\nRange: bytes=0-1\r\n");
    assert_eq!((part.status, part.body), (206, vec![0x1f, 0x8b]));
    assert_eq!(decoded(&weft, "/a.js", "identity"), (text.clone(), None), "others get another answer");
    assert_eq!(decoded_if(&weft, "/b.js", "gzip", false), (text, None), "made from what the file was before");
}
