//! What weft counts of HTTP/2's frames and reads of PRIORITY_UPDATE: the same wherever the bytes are split.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_proto::http2::{Meter, PREFACE};

fn run<'b>(pieces: impl Iterator<Item = &'b [u8]>) -> (bool, Vec<(u32, Vec<u8>)>) {
    let mut meter = Meter::new(0);
    let passes = meter.pass(PREFACE, 0) && pieces.fold(true, |passes, piece| passes && meter.pass(piece, 0));
    (passes, meter.updates)
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let whole = run(std::iter::once(input));
    assert_eq!(whole, run(input.chunks(1)));
    assert_eq!(whole, run(input.chunks(usize::from(cut) + 2)));
    assert!(whole.1.len() <= 64 && whole.1.iter().all(|(stream, field)| stream >> 31 == 0 && field.len() <= 60));
});
