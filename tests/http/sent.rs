//! Files that an application sends: in the codings, and with the conditions and ranges, that files of a document root have.

use weft_tests::{Response, Running, Server};

const TEXT: &str = "a line of text that is much like the next\n";

fn with_files(server: Server) -> Server {
    [
        ("files/a.css", TEXT.repeat(100)),
        ("files/b.js", "plain".into()),
        ("files/b.js.gz", "packed".into()),
        ("files/short.txt", "0123456789".into()),
        ("files/c.bin", "\u{1}".repeat(4000)),
        ("files/c.bin.gz", "packed".into()),
    ]
    .into_iter()
    .fold(server, |server, (name, text)| server.with_file(name, &text))
}

/// A handler with `Response::file()`, a script with X-Sendfile, and one with X-Accel-Redirect; each adds the fields that
/// the query names.
fn servers() -> [Running; 3] {
    let handler = "return function ($r) {
        $file = Weft\\Http\\Response::file(__DIR__ . '/files' . $r->path());
        foreach ((array) $r->query('add', []) as $name => $value) $file->setHeader($name, $value);
        return $file;
    };";
    let script = |line: &str| {
        format!(
            "<?php foreach ($_GET['add'] ?? [] as $name => $value) header(\"$name: $value\"); header({line});"
        )
    };
    let sendfile =
        script("'X-Sendfile: ' . dirname(__DIR__) . '/files' . strtok($_SERVER['REQUEST_URI'], '?')");
    let accel = script("'X-Accel-Redirect: /files' . strtok($_SERVER['REQUEST_URI'], '?')");
    let aliased = "[[rule]]\npath = \"/files\"\nalias = \"files\"\n";
    let root = |script: &str| Server::of_docroot(&[("index.php", script)]);
    [
        with_files(Server::new(handler)).start(),
        with_files(root(&sendfile)).with("--sendfile", "files").start(),
        with_files(root(&accel)).with_file("weft.toml", aliased).with_flag("--accel-redirect").start(),
    ]
}

fn ask(weft: &Running, method: &str, target: &str, fields: &str) -> Response {
    let mut client = weft.connect();
    client.send(format!("{method} {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
    if method == "HEAD" { client.read_of_head() } else { client.read() }
}

fn accepting(coding: &str) -> String {
    format!("Accept-Encoding: {coding}\r\n")
}

#[test]
fn text_is_compressed_and_has_a_tag_of_its_own() {
    for weft in servers() {
        let plain = ask(&weft, "GET", "/a.css", "");
        assert_eq!((plain.status, plain.text()), (200, TEXT.repeat(100)));
        assert_eq!(plain.header("vary"), Some("Accept-Encoding"));
        let mut tags = vec![plain.header("etag").expect("a tag").to_owned()];
        for coding in ["gzip", "br", "zstd"] {
            let coded = ask(&weft, "GET", "/a.css", &accepting(coding));
            assert_eq!(
                (coded.header("content-encoding"), coded.header("vary")),
                (Some(coding), Some("Accept-Encoding"))
            );
            assert!(coded.header("content-type").is_some_and(|kind| kind.starts_with("text/css")));
            assert!(coded.body.len() < 300, "{coding}: {} bytes", coded.body.len());
            let tag = coded.header("etag").expect("a tag").to_owned();
            assert!(!tags.contains(&tag), "{tag}");
            let same = format!("{}If-None-Match: {tag}\r\n", accepting(coding));
            let fresh = ask(&weft, "GET", "/a.css", &same);
            assert_eq!((fresh.status, fresh.header("vary")), (304, Some("Accept-Encoding")));
            let length = ask(&weft, "HEAD", "/a.css", &accepting(coding));
            assert_eq!(length.header("content-length"), Some(&coded.body.len().to_string()[..]));
            let part = ask(&weft, "GET", "/a.css", &format!("{}Range: bytes=0-9\r\n", accepting(coding)));
            assert_eq!((part.status, part.body), (200, coded.body), "the next time its bytes may be others");
            tags.push(tag);
        }
        let other = format!("{}If-None-Match: {}\r\n", accepting("gzip"), tags[0]);
        assert_eq!(ask(&weft, "GET", "/a.css", &other).status, 200, "the tag of another coding");
        let part = ask(&weft, "GET", "/a.css", "Range: bytes=2-5\r\n");
        assert_eq!((part.status, part.text()), (206, "line".into()));
        assert_eq!(ask(&weft, "GET", "/short.txt", &accepting("gzip")).header("content-encoding"), None);
        assert_eq!(ask(&weft, "GET", "/c.bin", &accepting("gzip")).body.len(), 4000, "it is no text");
    }
}

#[test]
fn a_compressed_neighbour_is_sent_while_it_is_not_older() {
    for weft in servers() {
        let packed = ask(&weft, "GET", "/b.js", &accepting("br, gzip"));
        assert_eq!((packed.text(), packed.header("content-encoding")), ("packed".into(), Some("gzip")));
        assert!(packed.header("content-type").is_some_and(|kind| kind.contains("/javascript")));
        let part = ask(&weft, "GET", "/b.js", &format!("{}Range: bytes=1-2\r\n", accepting("gzip")));
        assert_eq!((part.status, part.text()), (206, "ac".into()), "its bytes stay the same");
        assert_eq!(ask(&weft, "GET", "/b.js", "").text(), "plain");
        let old = std::fs::File::open(weft.path("files/b.js.gz")).expect("it is there");
        old.set_modified(std::time::UNIX_EPOCH).expect("the test's own file");
        assert_eq!(ask(&weft, "GET", "/b.js", &accepting("gzip")).text(), "plain");
    }
}

#[test]
fn what_the_application_says_of_a_file_holds() {
    let [weft, ..] = servers();
    for (name, value) in [("Cache-Control", "private, no-transform"), ("Content-Encoding", "aes128gcm")] {
        let target = format!("/a.css?add[{name}]={}", value.replace(' ', "%20"));
        let sent = ask(&weft, "GET", &target, &accepting("gzip"));
        assert_eq!((sent.text(), sent.header(name)), (TEXT.repeat(100), Some(value)), "{name}");
    }
    let own = ask(&weft, "GET", "/a.css?add[ETag]=%22v1%22&add[X-A]=1", &accepting("gzip"));
    assert_eq!((own.header("etag"), own.header("x-a")), (Some("\"v1-gzip\""), Some("1")));
    let again = format!("{}If-None-Match: \"v1-gzip\"\r\n", accepting("gzip"));
    assert_eq!(ask(&weft, "GET", "/a.css?add[ETag]=%22v1%22", &again).status, 304);
    let neighbour = ask(&weft, "GET", "/b.js?add[ETag]=%22v1%22", &accepting("gzip"));
    assert_eq!((neighbour.text(), neighbour.header("etag")), ("packed".into(), Some("\"v1-gzip\"")));
    let typed = ask(&weft, "GET", "/c.bin?add[Content-Type]=application/json", &accepting("gzip"));
    assert_eq!((typed.text(), typed.header("content-type")), ("packed".into(), Some("application/json")));
}
