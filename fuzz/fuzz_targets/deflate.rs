//! Compressed messages: nothing inflates to more than it may, and what is compressed is restored.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_proto::websocket::{Deflater, Inflater, Kind};

/// Small enough for the fuzzer to reach it.
const MESSAGE_BYTES_MAX: usize = 2000;

fuzz_target!(|data: &[u8]| {
    let mut inflater = Inflater::default();
    let first = inflater.inflate(Kind::Binary, data, MESSAGE_BYTES_MAX);
    assert!(first.as_ref().map_or(0, Vec::len) <= MESSAGE_BYTES_MAX);
    // Nothing of a message is left for the next one.
    assert_eq!(inflater.inflate(Kind::Binary, data, MESSAGE_BYTES_MAX), first);
    if let Some(compressed) = Deflater::default().deflate(data) {
        assert!(compressed.len() < data.len());
        let restored = inflater.inflate(Kind::Binary, &compressed, data.len());
        assert_eq!(restored.as_deref(), Ok(data));
    }
});
