//! Blocks of fields (HPACK): whatever they hold, what is read stays below the limit of a head, and becomes one head.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod http2;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:method: GET`, `:scheme: https`, `:path: /`, `:authority: a` with Huffman's code.
const REQUEST: [u8; 6] = [0x82, 0x87, 0x84, 0x41, 0x81, 0x1f];

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags, 0, 0, 0, stream]);
    bytes.extend_from_slice(payload);
    bytes
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, input)) = data.split_first() else { return };
    let mut server = http2::Server::new();
    // Up to three requests that share a table; the first bit says whether the fields of every request are given.
    for (number, part) in input.chunks(input.len() / 3 + 1).enumerate() {
        let stream = 2 * number as u8 + 1;
        let block = if first & 1 == 0 { [&REQUEST[..], part].concat() } else { part.to_vec() };
        let cut = usize::from(first >> 1).min(block.len());
        server.feed(&frame(HEADERS, END_STREAM, stream, &block[..cut]), true);
        server.feed(&frame(CONTINUATION, END_HEADERS, stream, &block[cut..]), true);
    }
    for head in &server.heads {
        // The limit counts 32 bytes for each field more than the text has.
        assert!(head.len() <= http2::HEAD_BYTES_MAX as usize + 512, "a head of {} bytes", head.len());
    }
    server.end();
});
