//! Frames of clients: every split has the same outcome, no message is larger than allowed, and a text is UTF-8.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_proto::websocket::{CloseCode, Decoder, Failure, Kind, Received};

/// Small enough for the fuzzer to reach it.
const MESSAGE_BYTES_MAX: usize = 300;

fn decode<'a>(
    inflates: bool,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Received>, Option<Failure>) {
    let new = if inflates { Decoder::inflating } else { Decoder::new };
    let (mut decoder, mut all) = (new(MESSAGE_BYTES_MAX), Vec::new());
    for mut input in pieces {
        while !input.is_empty() {
            match decoder.decode(input) {
                Ok((used, received)) => {
                    assert!(used > 0 && used <= input.len());
                    assert!(received.is_some() || used == input.len());
                    all.extend(received);
                    input = &input[used..];
                }
                Err(failure) => {
                    assert!(failure.code.is_sendable());
                    return (all, Some(failure));
                }
            }
        }
    }
    (all, None)
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let (before, after) = input.split_at(usize::from(cut).min(input.len()));
    let inflates = cut % 2 == 1;
    let whole = decode(inflates, std::iter::once(input));
    assert_eq!(whole, decode(inflates, [before, after].into_iter()));
    assert_eq!(whole, decode(inflates, input.chunks(1)));
    for received in whole.0 {
        match received {
            Received::Message(kind, bytes) => {
                assert!(bytes.len() <= MESSAGE_BYTES_MAX);
                assert!(kind == Kind::Binary || std::str::from_utf8(&bytes).is_ok());
            }
            // What cannot be compressed becomes a little longer by it.
            Received::Compressed(_, bytes) => {
                assert!(inflates && bytes.len() <= MESSAGE_BYTES_MAX + MESSAGE_BYTES_MAX / 64 + 64);
            }
            Received::Ping(bytes) | Received::Pong(bytes) => assert!(bytes.len() <= 125),
            Received::Close(code, reason) => {
                assert!(reason.len() <= 123 && (code.is_sendable() || code == CloseCode::NO_STATUS));
            }
        }
    }
});
