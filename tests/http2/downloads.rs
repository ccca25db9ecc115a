//! Large files: right to the last byte, and through no more memory than the bounds of streams and connections.

use std::io::Write;
use std::process::Command;

use weft_tests::services::Authority;
use weft_tests::{Server, command, process};

use crate::frames::*;

const MIB: u64 = 1 << 20;
/// Of a stream: what h2 holds of its answer, and the piece of a file behind that.
const STREAM_BYTES_MAX: u64 = 2 * 32 * 1024;
/// Of a connection: what waits for the socket, its last frame, and what TLS has taken of it.
const CONNECTION_BYTES_MAX: u64 = 3 * 128 * 1024;
/// What the allocator and PHP may need for a worker's first requests.
const SLACK_BYTES: u64 = 4 * MIB;

/// A document root with a file `name` of so many MiB; no part of it is like another.
fn with_file(server: Server, name: &str, mebibytes: u64) -> Server {
    let path = server.directory().join("public").join(name);
    let mut file = std::fs::File::create(path).expect("the test's own file");
    let mut part: Vec<u8> = (0..MIB / 8).flat_map(u64::to_le_bytes).collect();
    for number in 0..mebibytes {
        // One word says which MiB it is, the others where in it.
        part[..8].copy_from_slice(&(number << 32).to_le_bytes());
        file.write_all(&part).expect("room for the file");
    }
    server
}

#[test]
fn a_gibibyte_comes_whole() {
    let server = with_file(with_file(Server::of_docroot(&[]), "small.bin", 4), "large.bin", 1024);
    Authority::new(server.directory()).certify("a", "DNS:a.example", 9);
    let server = server.with("--listen", "https://127.0.0.1:0").with("--listen", "127.0.0.1:0");
    let weft = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key").start();
    let [tls, plain] = weft.addresses()[..] else { panic!("two addresses: {}", weft.log()) };
    let sum = |source: &str| {
        let mut shell = Command::new("sh");
        let script = format!("{source} | sha256sum");
        let output = command::finish(shell.current_dir(weft.directory()).args(["-c", &script]));
        assert_eq!((output.code, &output.stderr[..]), (Some(0), ""), "{source}");
        output.stdout
    };
    let expected = sum("cat public/large.bin");
    let curl = format!("curl -sS --cacert ca.pem --connect-to ::{tls}");
    for source in [
        format!("{curl} --http2 https://a.example/large.bin"),
        format!("curl -sS --http2-prior-knowledge http://{plain}/large.bin"),
    ] {
        // What such a connection needs of code and tables is there from then on.
        sum(&source.replace("/large", "/small"));
        process::resident_bytes_peak(weft.workers()[0]);
        let before = process::resident_bytes_peak(weft.workers()[0]);
        assert_eq!(sum(&source), expected, "{source}");
        let grown = process::resident_bytes_peak(weft.workers()[0]).saturating_sub(before);
        let bound = STREAM_BYTES_MAX + CONNECTION_BYTES_MAX + SLACK_BYTES;
        assert!(grown < bound, "{source}: the worker grew by {grown} bytes, more than {bound}");
    }
}

#[test]
fn streams_side_by_side_are_whole_and_take_no_more_than_their_bounds() {
    const STREAMS: u32 = 64;
    const FILES: u32 = 4;
    let server = (0..FILES).fold(Server::of_docroot(&[]), |server, number| {
        with_file(server, &format!("{number}.bin"), 10 + u64::from(number))
    });
    let weft = server.start();
    let files: Vec<Vec<u8>> = (0..FILES)
        .map(|number| std::fs::read(weft.path(&format!("public/{number}.bin"))).expect("the test's own file"))
        .collect();
    process::resident_bytes_peak(weft.workers()[0]);
    let before = process::resident_bytes_peak(weft.workers()[0]);
    // Its windows never close, so what the server holds back is the server's own choice.
    let mut peer = Peer::begin_with(weft.address, &[(4, 0x7fff_ffff)]);
    peer.send(&window_update(0, 0x7fff_0000));
    let requests: Vec<u8> =
        (0..STREAMS).flat_map(|n| get(2 * n + 1, &format!("/{}.bin", n % FILES))).collect();
    peer.send(&requests);
    // Meanwhile others are served, and it reads nothing.
    for _ in 0..200 {
        assert_eq!(weft.get("/none").status, 404);
    }
    let mut received = [0usize; STREAMS as usize];
    let mut ended = 0;
    while ended < STREAMS {
        let frame = peer.news().expect("an answer before the end");
        let number = frame.stream / 2;
        let file = &files[(number % FILES) as usize];
        match frame.kind {
            HEADERS => assert_eq!(frame.payload[0], STATUS_200),
            DATA => {
                let at = &mut received[number as usize];
                assert!(
                    file[*at..].starts_with(&frame.payload),
                    "stream {}, from byte {at} on",
                    frame.stream
                );
                *at += frame.payload.len();
                assert!(!frame.ends() || *at == file.len(), "stream {} ends after {at} bytes", frame.stream);
            }
            _ => panic!("{frame:?}"),
        }
        ended += u32::from(frame.ends());
    }
    let grown = process::resident_bytes_peak(weft.workers()[0]).saturating_sub(before);
    let bound = u64::from(STREAMS) * STREAM_BYTES_MAX + CONNECTION_BYTES_MAX + SLACK_BYTES;
    assert!(grown < bound, "the worker grew by {grown} bytes, more than {bound}");
}
