//! Framings of TCP services: every split has the same outcome, and no message is larger than allowed.
#![no_main]

use std::rc::Rc;

use libfuzzer_sys::fuzz_target;
use weft_proto::framing::{Framer, Framing, FramingError, Prefix};

/// Small enough for the fuzzer to reach it.
const MESSAGE_BYTES_MAX: usize = 100;

fn decode<'a>(framing: &Rc<Framing>, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Option<FramingError>) {
    let (mut framer, mut all) = (Framer::new(Rc::clone(framing), MESSAGE_BYTES_MAX), Vec::new());
    for mut input in pieces {
        while !input.is_empty() {
            match framer.decode(input) {
                Ok((used, message)) => {
                    assert!(used > 0 && used <= input.len() && (message.is_some() || used == input.len()));
                    all.extend(message);
                    input = &input[used..];
                }
                Err(error) => return (all, Some(error)),
            }
        }
    }
    (all, None)
}

fuzz_target!(|data: &[u8]| {
    let [kind, cut, input @ ..] = data else { return };
    let framing = Rc::new(match kind % 8 {
        0 => Framing::Delimited(b"\n"[..].into()),
        1 => Framing::Delimited(b"\r\n"[..].into()),
        2 => Framing::Delimited(b"aab"[..].into()),
        kind => Framing::Prefixed(Prefix {
            bytes: [1, 2, 4, 8, 2][usize::from(kind - 3)],
            is_little_endian: kind == 7,
            counts_itself: kind >= 6,
        }),
    });
    let (before, after) = input.split_at(usize::from(*cut).min(input.len()));
    let whole = decode(&framing, std::iter::once(input));
    assert_eq!(whole, decode(&framing, [before, after].into_iter()));
    assert_eq!(whole, decode(&framing, input.chunks(1)));
    for message in whole.0 {
        assert!(message.len() <= MESSAGE_BYTES_MAX);
        let again = decode(&framing, std::iter::once(&framing.encode(&message).expect("it was received")[..]));
        assert_eq!(again, (vec![message], None));
    }
});
