//! Files: types, validators, ranges (RFC 9110 sections 8.8, 13, 14).

use weft_tests::{Response, Running};

use crate::server;

fn with_files() -> Running {
    server()
        .with_file("data.txt", "0123456789abcdefghij")
        .with_file("empty.bin", "")
        .with_file("page.html", "<p>page</p>")
        .with_file("large.bin", &"0123456789".repeat(500_000))
        .start()
}

fn get(weft: &Running, name: &str, headers: &str) -> Response {
    weft.say(format!("GET /file?name={name} HTTP/1.1\r\nHost: a\r\n{headers}\r\n"))
}

#[test]
fn a_file_has_type_length_and_validators() {
    let weft = with_files();
    let response = get(&weft, "data.txt", "");
    assert_eq!((response.status, response.text().as_str()), (200, "0123456789abcdefghij"));
    assert_eq!(response.header("content-length"), Some("20"));
    assert!(
        response.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")),
        "{response:?}"
    );
    assert_eq!(response.header("accept-ranges"), Some("bytes"));
    let tag = response.header("etag").expect("an entity tag");
    assert!(tag.starts_with('"') || tag.starts_with("W/\""), "{tag}");
    assert!(response.header("last-modified").is_some_and(|date| date.ends_with(" GMT")));
    assert!(
        get(&weft, "page.html", "").header("content-type").is_some_and(|kind| kind.starts_with("text/html"))
    );
    let empty = get(&weft, "empty.bin", "");
    assert_eq!((empty.status, empty.body.len()), (200, 0));
    assert_eq!(get(&weft, "large.bin", "").body, "0123456789".repeat(500_000).into_bytes());
}

#[test]
fn a_single_range() {
    let weft = with_files();
    for (range, body, content_range) in [
        ("0-4", "01234", "bytes 0-4/20"),
        ("5-", "56789abcdefghij", "bytes 5-19/20"),
        ("-3", "hij", "bytes 17-19/20"),
        ("18-100", "ij", "bytes 18-19/20"),
        ("-100", "0123456789abcdefghij", "bytes 0-19/20"),
    ] {
        let response = get(&weft, "data.txt", &format!("Range: bytes={range}\r\n"));
        assert_eq!((response.status, response.text().as_str()), (206, body), "{range}");
        assert_eq!(response.header("content-range"), Some(content_range), "{range}");
    }
}

#[test]
fn ranges_that_cannot_be_served() {
    let weft = with_files();
    for range in ["20-", "100-200", "-0"] {
        let response = get(&weft, "data.txt", &format!("Range: bytes={range}\r\n"));
        assert_eq!(response.status, 416, "{range}");
        assert_eq!(response.header("content-range"), Some("bytes */20"), "{range}");
    }
    for range in ["bytes=5-2", "bytes=x", "lines=1-2", "bytes="] {
        let response = get(&weft, "data.txt", &format!("Range: {range}\r\n"));
        assert_eq!((response.status, response.body.len()), (200, 20), "{range} means nothing and is ignored");
    }
}

#[test]
fn a_fresh_copy_is_not_sent_again() {
    let weft = with_files();
    let first = get(&weft, "data.txt", "");
    let (tag, date) = (first.header("etag").expect("a tag"), first.header("last-modified").expect("a date"));
    for headers in [
        format!("If-None-Match: {tag}\r\n"),
        format!("If-None-Match: \"other\", {tag}\r\n"),
        "If-None-Match: *\r\n".into(),
        format!("If-Modified-Since: {date}\r\n"),
        format!("If-None-Match: {tag}\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
    ] {
        let response = get(&weft, "data.txt", &headers);
        assert_eq!((response.status, response.body.len()), (304, 0), "{headers}");
        assert_eq!(response.header("etag"), Some(tag), "{headers}");
    }
    for headers in [
        "If-None-Match: \"other\"\r\n".into(),
        "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n".into(),
        format!("If-None-Match: \"other\"\r\nIf-Modified-Since: {date}\r\n"),
    ] {
        assert_eq!(get(&weft, "data.txt", &headers).status, 200, "{headers}");
    }
    assert_eq!(get(&weft, "data.txt", "If-Match: \"other\"\r\n").status, 412);
    assert_eq!(get(&weft, "data.txt", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n").status, 412);
}

#[test]
fn a_range_of_a_changed_file_is_the_whole_file() {
    let weft = with_files();
    let response = get(&weft, "data.txt", "Range: bytes=0-4\r\nIf-Range: \"other\"\r\n");
    assert_eq!((response.status, response.body.len()), (200, 20));
    let first = get(&weft, "data.txt", "");
    let tag = first.header("etag").expect("a tag");
    if !tag.starts_with("W/") {
        let response = get(&weft, "data.txt", &format!("Range: bytes=0-4\r\nIf-Range: {tag}\r\n"));
        assert_eq!((response.status, response.text().as_str()), (206, "01234"));
    }
}

#[test]
fn head_of_a_file() {
    let weft = with_files();
    let mut client = weft.connect();
    client.send("HEAD /file?name=large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.read_of_head();
    assert_eq!((head.status, head.header("content-length")), (200, Some("5000000")));
    client.get("/hello");
    assert_eq!(client.read().text(), "Hello World");
}

#[test]
fn a_download_has_a_name() {
    let weft = with_files();
    let response = weft.get("/file?name=data.txt&download=M%C3%BCll%22.txt");
    assert_eq!(
        response.header("content-disposition"),
        Some("attachment; filename=\"M__ll\\\".txt\"; filename*=UTF-8''M%C3%BCll%22.txt")
    );
}

#[test]
fn files_that_cannot_be_sent() {
    let weft = with_files();
    assert_eq!(get(&weft, "missing.txt", "").status, 404);
    // A directory is not a file.
    assert!([403, 404].contains(&get(&weft, ".", "").status));
    assert_eq!(get(&weft, "data.txt", "").status, 200);
}

#[test]
fn a_file_is_read_at_the_clients_pace_and_others_are_served() {
    let weft = with_files();
    let mut client = weft.connect();
    client.get("/file?name=large.bin");
    assert_eq!(client.read_head().status, 200);
    assert_eq!(weft.get("/hello").text(), "Hello World");
    assert_eq!(client.read_bytes(5_000_000).len(), 5_000_000);
    client.get("/hello");
    assert_eq!(client.read().text(), "Hello World");
}

#[test]
fn pipelined_files_and_strings_keep_their_order() {
    let weft = with_files();
    let mut client = weft.connect();
    client.send(
        "GET /file?name=data.txt HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n\
         GET /file?name=large.bin HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    let lengths: Vec<usize> = (0..4).map(|_| client.read().body.len()).collect();
    assert_eq!(lengths, [20, 11, 5_000_000, 11]);
}
