//! Chunked bodies: every split has the same outcome, and a decoded body that is encoded again decodes to the
//! same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_proto::{ChunkDecoder, RequestLimits, Reject, write_chunk, write_last_chunk};

/// Small enough for the fuzzer to reach every limit.
const LIMITS: RequestLimits = RequestLimits {
    head_bytes_max: 512,
    header_count_max: 8,
    target_bytes_max: 64,
    body_bytes_max: 256,
    chunk_line_bytes_max: 16,
    chunk_extension_bytes_max: 32,
    trailer_bytes_max: 64,
    trailer_count_max: 4,
};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<(Vec<u8>, Fields, usize, bool), Reject> {
    let mut decoder = ChunkDecoder::new(&LIMITS);
    let (mut body, mut used) = (Vec::new(), 0);
    for mut input in pieces {
        while !input.is_empty() && !decoder.is_done() {
            let step = decoder.decode(input)?;
            assert!(step.consumed > 0 && step.consumed <= input.len());
            assert!(step.data.start <= step.data.end && step.data.end <= step.consumed);
            assert_eq!(step.done, decoder.is_done());
            body.extend_from_slice(&input[step.data]);
            used += step.consumed;
            input = &input[step.consumed..];
        }
    }
    assert!(body.len() as u64 <= LIMITS.body_bytes_max && body.len() as u64 <= decoder.body_bytes());
    let trailers = decoder.trailers().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
    Ok((body, trailers, used, decoder.is_done()))
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let (before, after) = input.split_at(usize::from(cut).min(input.len()));
    let whole = decode(std::iter::once(input));
    assert_eq!(whole, decode([before, after].into_iter()));
    assert_eq!(whole, decode(input.chunks(1)));
    let Ok((body, trailers, used, true)) = whole else { return };
    assert!(used <= input.len());

    let mut again = Vec::new();
    for piece in body.chunks(usize::from(cut).max(1)) {
        write_chunk(&mut again, piece);
    }
    let fields = trailers.iter().map(|(name, value)| (&name[..], &value[..]));
    write_last_chunk(&mut again, fields).expect("accepted trailers can be written");
    // Encoding adds one space per trailer, which may exceed the decoder's limit.
    if let Ok(second) = decode(std::iter::once(&again[..])) {
        assert_eq!(second, (body, trailers, again.len(), true));
    }
});
