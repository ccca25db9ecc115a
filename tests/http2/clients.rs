//! Clients that know nothing of weft: curl, nghttp, h2load, Python's h2 and httpx, h2spec.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use weft_tests::services::Authority;
use weft_tests::{Running, command};

use crate::server;

/// A server with a plain address and one with TLS.
fn both() -> (Running, SocketAddr) {
    let server = server();
    Authority::new(server.directory()).certify("a", "DNS:a.example,DNS:localhost,IP:127.0.0.1", 9);
    let server = server.with("--listen", "127.0.0.1:0").with("--listen", "https://127.0.0.1:0");
    let weft = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key").start();
    let tls = weft.addresses().into_iter().find(|address| *address != weft.address).expect("two");
    (weft, tls)
}

fn run(weft: &Running, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command::finish(command.current_dir(weft.directory()).args(arguments));
    assert_eq!(output.code, Some(0), "{program}: {} {} {}", output.stdout, output.stderr, weft.log());
    output.stdout
}

#[test]
fn curl_chooses_it_over_tls() {
    let (weft, tls) = both();
    let url = format!("https://{tls}/describe");
    for (flags, version) in [(&["--http2"][..], "2.0"), (&["--http1.1"], "1.1"), (&[], "2.0")] {
        let said = run(&weft, "curl", &[&["-sS", "--cacert", "ca.pem", &url], flags].concat());
        let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        assert_eq!((&said["version"], &said["scheme"]), (&version.into(), &"https".into()), "{said}");
    }
    let url = format!("http://{}/describe", weft.address);
    let said = run(&weft, "curl", &["-sS", "--http2-prior-knowledge", &url]);
    assert!(said.contains("\"version\":\"2.0\""), "{said}");
    // An offer to change the protocol in place (h2c by Upgrade) is not taken: RFC 9113 has dropped it.
    let said = run(&weft, "curl", &["-sS", "--http2", &url]);
    assert!(said.contains("\"version\":\"1.1\""), "{said}");
}

#[test]
fn nghttp_and_h2load_get_every_answer() {
    let (weft, tls) = both();
    for url in [format!("http://{}/hello", weft.address), format!("https://{tls}/hello")] {
        let said = run(&weft, "nghttp", &["-n", "-s", "-m", "20", &url]);
        assert!(said.contains("200") && said.contains("/hello"), "{said}");
        let said = run(&weft, "h2load", &["-n", "5000", "-c", "5", "-m", "100", &url]);
        assert!(said.contains("5000 succeeded, 0 failed, 0 errored"), "{said}");
    }
}

#[test]
fn pythons_h2_reads_heads_hints_and_trailers() {
    let (weft, _) = both();
    weft.write("client.py", include_str!("client.py"));
    let address = weft.address.port().to_string();
    assert_eq!(run(&weft, "/usr/bin/python3", &["client.py", &address]), "all is well\n");
}

/// Several requests at once on one connection, bodies in both directions, a streamed one, and a stream that is given up.
const HTTPX: &str = r#"
import asyncio, hashlib, json, ssl, sys
import httpx

async def main(url):
    context = ssl.create_default_context(cafile="ca.pem")
    async with httpx.AsyncClient(http1=False, http2=True, verify=context, timeout=60) as client:
        said = [client.get(f"{url}/describe", headers={"x-number": str(number)}) for number in range(50)]
        for answer in await asyncio.gather(*said):
            assert (answer.status_code, answer.http_version) == (200, "HTTP/2"), answer
            assert answer.json()["version"] == "2.0", answer.text
        body = bytes(range(256)) * 4000
        answer = await client.post(f"{url}/digest", content=body)
        assert answer.json()["sha256"] == hashlib.sha256(body).hexdigest(), answer.text
        async with client.stream("GET", f"{url}/large?size=3000000") as answer:
            async for piece in answer.aiter_raw():
                break
        answer = await client.get(f"{url}/large?size=3000000")
        assert len(answer.content) == int(answer.headers["content-length"]) > 1_000_000, len(answer.content)
        answer = await client.head(f"{url}/hello")
        assert (answer.status_code, answer.content) == (200, b""), answer
    print("all is well")

asyncio.run(main(sys.argv[1]))
"#;

#[test]
fn pythons_httpx_multiplexes() {
    let (weft, tls) = both();
    weft.write("client.py", HTTPX);
    let url = format!("https://localhost:{}", tls.port());
    assert_eq!(run(&weft, "/usr/bin/python3", &["client.py", &url]), "all is well\n");
}

/// h2spec, built by Go's own means where there is Go.
fn h2spec() -> Option<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("h2spec");
    let program = directory.join("h2spec");
    if !program.exists() {
        let mut go = Command::new("go");
        go.env("GOBIN", &directory).env("GOFLAGS", "-mod=mod");
        let built =
            go.args(["install", "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"]).output();
        if !built.is_ok_and(|output| output.status.success()) {
            return None;
        }
    }
    Some(program)
}

#[test]
fn h2spec_finds_nothing() {
    let Some(program) = h2spec() else {
        eprintln!("NOT RUN: h2spec cannot be had here: it takes Go and its module proxy");
        return;
    };
    let (weft, tls) = both();
    for (address, flags, failures) in [(weft.address, &[][..], 1), (tls, &["-t", "-k"], 0)] {
        let mut command = Command::new(&program);
        command
            .args(["-h", "127.0.0.1", "-o", "30", "-P", "/hello", "-p", &address.port().to_string()])
            .args(flags);
        let said = command::finish(&mut command).stdout;
        let summary = said.lines().rev().find(|line| line.contains(" tests, ")).unwrap_or_default();
        assert!(summary.ends_with(&format!(" 0 skipped, {failures} failed")), "{said}");
        // A plain address speaks HTTP/1.1, too, and answers what is not HTTP/2's preface with 400.
        assert_eq!(said.contains("Sends invalid connection preface\n        ->"), failures == 1, "{said}");
    }
}
