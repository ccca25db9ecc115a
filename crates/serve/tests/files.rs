//! Files: conditions, ranges, types, and names that are not files.

mod common;

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use common::*;
use weft_serve::{Error, ServerLimits};

/// A directory with `small.txt` (26 letters) and `large.bin` (3 MB), both last changed in 1994. The server serves them
/// by name.
struct Files {
    directory: PathBuf,
    server: TestServer,
}

impl Files {
    fn start(name: &str) -> Files {
        let directory = directory(name);
        write(&directory.join("small.txt"), b"abcdefghijklmnopqrstuvwxyz");
        write(&directory.join("large.bin"), &large());
        write(&directory.join("empty"), b"");
        let root = directory.clone();
        let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), move |server, key| {
            let name = server
                .with_request(key, |request| String::from_utf8_lossy(&request.path()[1..]).into_owned())
                .unwrap();
            match server.respond_file(key, 200, &[(b"Cache-Control", b"no-cache")], &root.join(name)) {
                Ok(_) => (),
                Err(Error::NotFound) => server.respond_error(key, 404, None).unwrap(),
                Err(error) => panic!("{error}"),
            }
        });
        Files { directory, server }
    }

    fn get(&self, name: &str, fields: &str) -> String {
        let request = format!("GET /{name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n");
        self.server.ask(request)
    }

    fn etag(&self, name: &str) -> String {
        let answer = self.get(name, "");
        answer.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap().to_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn write(path: &Path, content: &[u8]) {
    std::fs::write(path, content).unwrap();
    let then = UNIX_EPOCH + Duration::from_secs(784_111_777);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

fn large() -> Vec<u8> {
    (0..3_000_000u32).map(|n| (n >> 7) as u8).collect()
}

#[test]
fn a_file_is_sent_with_its_type_and_validators() {
    let files = Files::start("whole");
    let etag = files.etag("small.txt");
    assert_eq!(etag, "\"1a-2ebc98a100000000\"");
    let expected = format!(
        "HTTP/1.1 200 OK\r\nServer: weft\r\nCache-Control: no-cache\r\nETag: {etag}\r\n\
         Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nAccept-Ranges: bytes\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Length: 26\r\nConnection: close\r\n\r\n"
    );
    files.server.check(
        "GET /small.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        &[&expected, "abcdefghijklmnopqrstuvwxyz"].concat(),
    );
    files.server.check("HEAD /small.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", &expected);
    assert!(files.get("empty", "").ends_with(
        "Content-Type: application/octet-stream\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ));
}

#[test]
fn large_files_arrive_intact_between_other_responses() {
    let files = Files::start("large");
    let mut stream = files.server.connect();
    let request = |name: &str| format!("GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n");
    let all =
        [request("small.txt"), request("large.bin"), request("large.bin"), request("small.txt")].concat();
    stream.write_all(all.as_bytes()).unwrap();
    let small = b"abcdefghijklmnopqrstuvwxyz".to_vec();
    for expected in [&small, &large(), &large(), &small] {
        assert!(response(&mut stream).1 == *expected);
    }
}

#[test]
fn one_range_is_sent_as_the_body() {
    let files = Files::start("range");
    for (range, part, content) in [
        ("bytes=0-0", "0-0", "a"),
        ("bytes=23-", "23-25", "xyz"),
        ("bytes=-2", "24-25", "yz"),
        ("bytes=2-4", "2-4", "cde"),
        ("bytes=20-99", "20-25", "uvwxyz"),
    ] {
        let answer = files.get("small.txt", &format!("Range: {range}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 206 Partial Content\r\n"), "{answer}");
        assert!(answer.contains(&format!("\r\nContent-Range: bytes {part}/26\r\n")), "{answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{content}")), "{answer}");
    }
    let mut stream = files.server.connect();
    stream.write_all(b"GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=1000000-1999999\r\n\r\n").unwrap();
    assert!(response(&mut stream).1 == large()[1_000_000..2_000_000]);
}

#[test]
fn several_ranges_are_sent_as_parts() {
    let files = Files::start("ranges");
    let answer = files.get("small.txt", "Range: bytes=0-1, 24-\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 206 Partial Content\r\n"), "{head}");
    assert!(!head.contains("Content-Range"), "{head}");
    let boundary = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Type: multipart/byteranges; boundary="))
        .unwrap();
    let kind = "Content-Type: text/plain; charset=utf-8";
    assert_eq!(
        body,
        format!(
            "\r\n--{boundary}\r\n{kind}\r\nContent-Range: bytes 0-1/26\r\n\r\nab\
             \r\n--{boundary}\r\n{kind}\r\nContent-Range: bytes 24-25/26\r\n\r\nyz\r\n--{boundary}--\r\n"
        )
    );
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    let many = "0-0,".repeat(17);
    assert!(
        files.get("small.txt", &format!("Range: bytes={many}1-1\r\n")).starts_with("HTTP/1.1 200 OK\r\n")
    );
}

#[test]
fn a_range_beyond_the_end_is_416() {
    let files = Files::start("beyond");
    let answer = files.get("small.txt", "Range: bytes=26-\r\n");
    assert!(answer.starts_with("HTTP/1.1 416 Range Not Satisfiable\r\n"), "{answer}");
    assert!(answer.contains("\r\nContent-Range: bytes */26\r\n"), "{answer}");
    assert!(answer.ends_with("Content-Length: 0\r\nConnection: close\r\n\r\n"), "{answer}");
}

#[test]
fn preconditions_are_obeyed() {
    let files = Files::start("conditions");
    let etag = files.etag("small.txt");
    let (then, earlier) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sat, 05 Nov 1994 08:49:37 GMT");
    for (fields, status) in [
        (format!("If-None-Match: {etag}\r\n"), 304),
        (format!("If-None-Match: \"x\", W/{etag}\r\n"), 304),
        ("If-None-Match: \"x\"\r\n".to_owned(), 200),
        (format!("If-Modified-Since: {then}\r\n"), 304),
        (format!("If-Modified-Since: {earlier}\r\n"), 200),
        ("If-Match: \"x\"\r\n".to_owned(), 412),
        (format!("If-Match: {etag}\r\n"), 200),
        (format!("If-Unmodified-Since: {earlier}\r\n"), 412),
        (format!("Range: bytes=0-0\r\nIf-Range: {etag}\r\n"), 206),
        ("Range: bytes=0-0\r\nIf-Range: \"x\"\r\n".to_owned(), 200),
        (format!("Range: bytes=0-0\r\nIf-Range: {then}\r\n"), 206),
        (format!("Range: bytes=0-0\r\nIf-Range: {earlier}\r\n"), 200),
    ] {
        let answer = files.get("small.txt", &fields);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{fields}: {answer}");
        assert!(answer.contains(&etag), "{answer}");
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        assert_eq!(body.is_empty(), matches!(status, 304 | 412), "{fields}: {answer}");
    }
}

#[test]
fn what_is_no_regular_file_is_not_found() {
    let files = Files::start("missing");
    std::fs::create_dir(files.directory.join("folder")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, files.directory.join("fifo"), rustix::fs::Mode::RUSR).unwrap();
    for name in ["none", "folder", "fifo", "small.txt/x"] {
        assert!(files.get(name, "").starts_with("HTTP/1.1 404 Not Found\r\n"), "{name}");
    }
}

#[test]
fn the_caller_may_choose_type_validators_and_status() {
    let directory = directory("chosen");
    write(&directory.join("a.html"), b"<p>");
    let path = directory.join("a.html");
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), move |server, key| {
        let fields: [(&[u8], &[u8]); 3] =
            [(b"Content-Type", b"text/x-mine"), (b"ETag", b"\"e\""), (b"Content-Length", b"77")];
        let status = server.with_request(key, |request| request.path() == b"/404").unwrap();
        let sent = server.respond_file(key, if status { 404 } else { 200 }, &fields, &path).unwrap();
        assert!(sent == 404 || !status);
    });
    let answer = server.ask("GET / HTTP/1.0\r\n\r\n");
    assert!(
        answer.contains("ETag: \"e\"\r\n") && answer.contains("Content-Type: text/x-mine\r\n"),
        "{answer}"
    );
    assert!(answer.ends_with("Content-Length: 3\r\nConnection: close\r\n\r\n<p>"), "{answer}");
    assert!(server.ask("GET / HTTP/1.0\r\nIf-None-Match: \"e\"\r\n\r\n").starts_with("HTTP/1.1 304 "));
    assert!(server.ask("GET /404 HTTP/1.0\r\nIf-None-Match: \"e\"\r\n\r\n").starts_with("HTTP/1.1 404 "));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_breaks_the_connection() {
    let directory = directory("shrinks");
    let path = directory.join("f");
    write(&path, &vec![b'x'; 50_000_000]);
    let served = path.clone();
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), move |server, key| {
        server.respond_file(key, 200, &[], &served).unwrap();
    });
    let mut stream = server.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    head(&mut stream);
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    let mut taken = Vec::new();
    let _ = stream.read_to_end(&mut taken);
    assert!(taken.len() < 50_000_000);
    server.until(|server| server.connections() == 0);
    std::fs::remove_dir_all(&directory).unwrap();
}
