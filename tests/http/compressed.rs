//! Text that PHP answers with, compressed on its way out: `compress_responses`.

use std::io::Read;

use weft_tests::{Response, Running, Server};

const LINE: &str = "the same words again and again, number";

const APP: &str = r#"use Weft\Http\Response;
function text(int $lines): string {
    $text = '';
    for ($n = 0; $n < $lines; $n++) { $text .= "the same words again and again, number $n\n"; }
    return $text;
}
return fn ($r) => match ($r->path()) {
    '/html' => text(1000),
    '/long' => text(60000),
    '/short' => text(2),
    '/own' => new Response(text(1000), 200, ['Content-Type' => 'text/plain', 'Content-Encoding' => 'x-own']),
    '/fixed' => new Response(text(1000), 200, ['Content-Type' => 'text/plain', 'Cache-Control' => 'max-age=1, No-Transform']),
    '/image' => new Response(text(1000), 200, ['Content-Type' => 'image/png']),
    '/tagged' => new Response(text(1000), 200, ['Content-Type' => 'text/plain', 'ETag' => '"one"', 'Vary' => 'Cookie']),
    '/part' => new Response(text(1000), 206, ['Content-Type' => 'text/plain', 'Content-Range' => 'bytes 0-9/99']),
    '/error' => new Response(json_encode([text(1000)]), 404, ['Content-Type' => 'application/json']),
    '/stream' => (function () { for ($n = 0; $n < 5; $n++) { yield str_repeat("piece $n\n", 100); usleep(1000); } })(),
    '/slow' => (function () { yield "first\n"; while (!file_exists(__DIR__ . '/go')) { usleep(1000); } yield "last\n"; })(),
    '/fails' => (function () { yield text(100); throw new Exception('broken'); })(),
    default => 'x',
};"#;

fn server() -> Running {
    Server::new(APP).with_flag("--compress-responses").start()
}

fn text(lines: usize) -> String {
    (0..lines).map(|n| format!("{LINE} {n}\n")).collect()
}

fn ask(weft: &Running, method: &str, target: &str, accepted: &str, version: &str) -> Response {
    let mut client = weft.connect();
    client
        .send(format!("{method} {target} HTTP/{version}\r\nHost: a\r\nAccept-Encoding: {accepted}\r\n\r\n"));
    if method == "HEAD" { client.read_of_head() } else { client.read() }
}

fn decoded(response: &Response) -> String {
    let (mut text, body) = (Vec::new(), &response.body[..]);
    match response.header("content-encoding") {
        Some("gzip") => flate2::read::GzDecoder::new(body).read_to_end(&mut text).expect("gzip"),
        Some("br") => brotli::Decompressor::new(body, 4096).read_to_end(&mut text).expect("brotli"),
        Some("zstd") => {
            zstd::stream::read::Decoder::new(body).and_then(|mut d| d.read_to_end(&mut text)).expect("zstd")
        }
        other => panic!("{other:?}"),
    };
    String::from_utf8(text).expect("text")
}

#[test]
fn each_coding_gives_the_text_back() {
    let weft = server();
    for coding in ["gzip", "br", "zstd"] {
        for version in ["1.1", "1.0"] {
            for (target, expected) in [("/html", text(1000)), ("/long", text(60000))] {
                let response = ask(&weft, "GET", target, coding, version);
                assert_eq!(decoded(&response), expected, "{coding} {target} {version}");
                assert!(response.body.len() < expected.len() / 4, "{coding} {target}");
                assert_eq!(response.header("vary"), Some("Accept-Encoding"), "{coding}");
            }
            let streamed = ask(&weft, "GET", "/stream", coding, version);
            let pieces: String = (0..5).map(|n| format!("piece {n}\n").repeat(100)).collect();
            assert_eq!(decoded(&streamed), pieces, "{coding} {version}");
        }
    }
    let error = ask(&weft, "GET", "/error", "gzip;q=0.5, br;q=0.1", "1.1");
    assert_eq!((error.status, error.header("content-encoding")), (404, Some("gzip")));
    assert!(decoded(&error).contains("number 999"));
}

#[test]
fn what_must_stay_as_it_is_does() {
    let weft = server();
    for target in ["/own", "/fixed", "/image", "/part"] {
        let response = ask(&weft, "GET", target, "gzip, br, zstd", "1.1");
        assert_eq!(response.text(), text(1000), "{target}");
        assert!(matches!(response.header("content-encoding"), None | Some("x-own")), "{target}");
    }
    let short = ask(&weft, "GET", "/short", "gzip", "1.1");
    assert_eq!((short.text(), short.header("vary")), (text(2), None));
    for accepted in ["", "identity", "gzip;q=0", "deflate"] {
        let plain = ask(&weft, "GET", "/html", accepted, "1.1");
        assert_eq!((plain.text(), plain.header("content-encoding")), (text(1000), None), "{accepted}");
        assert_eq!(plain.header("vary"), Some("Accept-Encoding"), "another client may get another one");
    }
    let tagged = ask(&weft, "GET", "/tagged", "gzip", "1.1");
    assert_eq!(
        (tagged.header("etag"), tagged.all("vary")),
        (Some("W/\"one\""), vec!["Cookie", "Accept-Encoding"])
    );
    assert_eq!(ask(&weft, "GET", "/tagged", "", "1.1").header("etag"), Some("\"one\""));
    let head = ask(&weft, "HEAD", "/html", "gzip", "1.1");
    let length = ask(&weft, "GET", "/html", "gzip", "1.1").body.len().to_string();
    assert_eq!(
        (head.header("content-encoding"), head.header("content-length")),
        (Some("gzip"), Some(&*length))
    );
    assert_eq!(ask(&weft, "HEAD", "/stream", "gzip", "1.1").header("content-encoding"), Some("gzip"));
    // Off, nothing is compressed.
    let off = Server::new(APP).start();
    let plain = ask(&off, "GET", "/html", "gzip", "1.1");
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), (None, None));
}

#[test]
fn a_streamed_piece_can_be_read_before_the_next_is_written() {
    let weft = server();
    for (coding, accepted) in [("gzip", "gzip"), ("br", "br"), ("zstd", "zstd")] {
        let _ = std::fs::remove_file(weft.path("go"));
        let mut curl = std::process::Command::new("curl");
        let url = format!("http://{}/slow", weft.address);
        curl.args(["-sN", "--compressed", "-H", &format!("Accept-Encoding: {accepted}"), &url]);
        curl.stdout(std::process::Stdio::piped());
        let known = weft_tests::command::finish(std::process::Command::new("curl").arg("-V")).stdout;
        let name = if coding == "br" {
            "brotli"
        } else if coding == "gzip" {
            "libz"
        } else {
            "zstd"
        };
        if !known.contains(name) {
            eprintln!("NOT RUN for {coding}: this curl cannot read it");
            continue;
        }
        let mut child = curl.spawn().expect("curl can be run");
        let mut out = std::io::BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).expect("a line");
        assert_eq!(line, "first\n", "{coding}");
        weft.write("go", "");
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("the rest");
        assert_eq!(rest, "last\n", "{coding}");
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn a_response_that_breaks_off_is_not_whole() {
    let weft = server();
    let mut client = weft.connect();
    client.send("GET /fails HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    let bytes = client.read_to_end();
    assert!(bytes.starts_with(b"HTTP/1.1 200") && !bytes.ends_with(b"\r\n0\r\n\r\n"));
}

#[test]
fn scripts_of_a_document_root_are_compressed_and_many_clients_share_a_worker() {
    let page = "<?php for ($n = 0; $n < (int) $_GET['n']; $n++) { echo \"the same words again and again, number $n\\n\"; }";
    let weft = Server::of_docroot(&[("index.php", page)]).with_flag("--compress-responses").start();
    let weft = &weft;
    std::thread::scope(|scope| {
        for client in 0..8usize {
            scope.spawn(move || {
                for round in 0..5 {
                    let coding = ["gzip", "br", "zstd"][(client + round) % 3];
                    let lines = [10, 1000, 5000, 40_000][(client * 3 + round) % 4];
                    let response = ask(weft, "GET", &format!("/?n={lines}"), coding, "1.1");
                    if lines == 10 {
                        assert_eq!(response.text(), text(10));
                    } else {
                        assert_eq!(decoded(&response), text(lines), "{coding} {lines}");
                    }
                }
            });
        }
    });
}

#[test]
fn pipelined_requests_get_all_of_it() {
    let weft = server();
    let mut client = weft.connect();
    client.send("GET /long HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n".repeat(3));
    for _ in 0..3 {
        assert_eq!(decoded(&client.read()), text(60000));
    }
}

#[test]
fn a_stream_of_http2_is_compressed_too() {
    let weft = server();
    let pieces: String = (0..5).map(|n| format!("piece {n}\n").repeat(100)).collect();
    for (target, expected) in [("/html", text(1000)), ("/long", text(60000)), ("/stream", pieces)] {
        for coding in ["gzip", "zstd"] {
            let mut curl = std::process::Command::new("curl");
            let (field, url) =
                (format!("Accept-Encoding: {coding}"), format!("http://{}{target}", weft.address));
            curl.current_dir(weft.directory()).args([
                "-sS",
                "--http2-prior-knowledge",
                "-H",
                &field,
                "-o",
                "out",
                "-D",
                "head",
                &url,
            ]);
            assert_eq!(weft_tests::command::finish(&mut curl).code, Some(0), "{target}");
            assert!(
                weft.read("head").contains(&format!("content-encoding: {coding}")),
                "{}",
                weft.read("head")
            );
            let body = std::fs::read(weft.path("out")).expect("curl has written it");
            let mut text = String::new();
            match coding {
                "gzip" => flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut text).expect("gzip"),
                _ => zstd::stream::read::Decoder::new(&body[..])
                    .and_then(|mut decoder| decoder.read_to_string(&mut text))
                    .expect("zstd"),
            };
            assert_eq!(text, expected, "{target} {coding}");
        }
    }
}
