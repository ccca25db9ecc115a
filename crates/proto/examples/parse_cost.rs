//! The cost of parsing a request head and of encoding a response head:
//! `cargo run --release -p weft-proto --example parse_cost`.
//!
//! Prints nanoseconds per operation, the best of several rounds. The reader compares; the program decides
//! nothing.

use std::hint::black_box;
use std::time::Instant;

use weft_proto::{
    BodyLength, ChunkDecoder, DateCache, Head, Repeated, RequestLimits, ResponseHead, Version, write_chunk,
};

const WRK: &[u8] = b"GET /hello HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

const CURL: &[u8] =
    b"GET /api/users/42?fields=name,email HTTP/1.1\r\nHost: api.example.org\r\nUser-Agent: curl/8.5.0\r\n\
Accept: */*\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\nConnection: keep-alive\r\n\r\n";

const BROWSER: &[u8] = b"GET /articles/2024/how-it-works?page=2 HTTP/1.1\r\nHost: www.example.org\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\
Referer: https://www.example.org/articles/2024/\r\nConnection: keep-alive\r\n\
Cookie: session=5f2b7d0e8c1a4b39; theme=dark; consent=1; _ga=GA1.1.1234567890.1700000000\r\n\
Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n\
Sec-Fetch-Site: same-origin\r\nSec-Fetch-User: ?1\r\nPriority: u=0, i\r\n\r\n";

fn main() {
    let limits = RequestLimits::default();
    let mut head = Head::new();
    for (name, bytes) in [("wrk", WRK), ("curl", CURL), ("browser", BROWSER)] {
        let cost = best_ns(|| black_box(head.parse(black_box(bytes), &limits)).is_ok());
        println!("parse  {name:8} {:4} bytes {:2} fields {cost:7.1} ns", bytes.len(), head.header_count());
    }

    let date = DateCache::new(1_700_000_000);
    let fields: [(&[u8], &[u8]); 1] = [(b"Content-Type", b"text/plain; charset=utf-8")];
    let hello = ResponseHead {
        status: 200,
        version: Version::Http11,
        head_request: false,
        keep_alive: true,
        body: BodyLength::Known(13),
        own_lines: b"",
    };
    let mut out = Vec::with_capacity(4096);
    let cost = best_ns(|| {
        out.clear();
        hello.encode(black_box(&fields), &date, &mut Repeated::default(), &mut out).is_ok()
    });
    println!("encode hello    {:4} bytes  1 field  {cost:7.1} ns", out.len());
    let mut last = Repeated::default();
    let cost = best_ns(|| {
        out.clear();
        hello.encode(black_box(&fields), &date, &mut last, &mut out).is_ok()
    });
    println!("encode hello again                   {cost:7.1} ns");

    let mut chunked = Vec::new();
    for _ in 0..16 {
        write_chunk(&mut chunked, &[b'x'; 4096]);
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let cost = best_ns(|| {
        let (mut decoder, mut input, mut total) = (ChunkDecoder::new(&limits), black_box(&chunked[..]), 0);
        while let Ok(step) = decoder.decode(input) {
            total += step.data.len();
            input = &input[step.consumed..];
            if step.done || input.is_empty() {
                break;
            }
        }
        black_box(total) == 16 * 4096
    });
    println!("decode 16 chunks of 4 KiB          {cost:7.1} ns");
}

/// Nanoseconds per call, the best of 20 rounds.
fn best_ns(mut operation: impl FnMut() -> bool) -> f64 {
    const CALLS: u32 = 50_000;
    let round = |operation: &mut dyn FnMut() -> bool| {
        let start = Instant::now();
        for _ in 0..CALLS {
            assert!(operation(), "the measured operation failed");
        }
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..20).map(|_| round(&mut operation)).fold(f64::INFINITY, f64::min)
}
