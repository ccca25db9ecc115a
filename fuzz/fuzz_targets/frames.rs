//! Frames of HTTP/2, valid and not: nothing panics, what is sent are frames, what is read of
//! bodies stays in the windows, and requests do not depend on how the bytes were split.
#![no_main]

use libfuzzer_sys::fuzz_target;

mod http2;

/// What the fuzzer writes becomes frames, so that it does not have to guess lengths: kind, flags, stream, and a payload. A kind
/// with its highest bit set has the length that the payload says, right or wrong.
fn frames(mut input: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let [kind, flags, stream, count, rest @ ..] = input {
        let payload = &rest[..usize::from(*count).min(rest.len())];
        let said = if kind & 0x80 == 0 { payload.len() } else { payload.len() ^ usize::from(*flags) };
        bytes.extend_from_slice(&(said as u32).to_be_bytes()[1..]);
        bytes.extend_from_slice(&[kind & 0x1f, *flags, 0, 0, 0, stream & 0x1f]);
        bytes.extend_from_slice(payload);
        input = &rest[payload.len()..];
    }
    bytes
}

/// The heads that came. `None` if the connection ended: how much of it was seen before depends on what came together.
fn run<'b>(pieces: impl Iterator<Item = &'b [u8]>, answers: bool) -> Option<Vec<Vec<u8>>> {
    let mut server = http2::Server::new();
    pieces.for_each(|piece| server.feed(piece, answers));
    let heads = (!server.over).then(|| server.heads.clone());
    server.end();
    heads
}

/// Whether all of `few` are among `many`, in the same order.
fn are_among(few: &[Vec<u8>], many: &[Vec<u8>]) -> bool {
    let mut many = many.iter();
    few.iter().all(|one| many.any(|other| other == one))
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let bytes = frames(input);
    let whole = run(std::iter::once(&bytes[..]), false);
    let single = run(bytes.chunks(1), false);
    // A refused request makes room for others, which is seen earlier in small pieces.
    if let (Some(whole), Some(single)) = (&whole, &single) {
        assert!(are_among(whole, single), "{whole:?} {single:?}");
    }
    // Handlers that answer at once see more of a connection that fails later.
    run(std::iter::once(&bytes[..]), true);
    run(bytes.chunks(usize::from(cut) + 2), true);
});
