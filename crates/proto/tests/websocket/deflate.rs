//! Compressed messages (RFC 7692): what is agreed on, and messages that others have compressed.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use weft_proto::websocket::{
    CloseCode, Decoder, Deflate, Deflater, Failure, Inflater, Kind, Received, compressed_frame,
};
use weft_proto::{Head, Parse, RequestLimits};

const MAX: usize = 10_000;
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first, 0x80 | 126];
    bytes.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    if payload.len() < 126 {
        bytes.truncate(1);
        bytes.push(0x80 | payload.len() as u8);
    }
    bytes.extend_from_slice(&MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

fn feed<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Received>, Failure> {
    let (mut decoder, mut inflater) = (Decoder::inflating(MAX), Inflater::default());
    let mut all = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            let (used, received) = decoder.decode(piece)?;
            piece = &piece[used..];
            all.extend(match received {
                Some(Received::Compressed(kind, payload)) => {
                    Some(Received::Message(kind, inflater.inflate(kind, &payload, MAX)?))
                }
                other => other,
            });
        }
    }
    Ok(all)
}

#[track_caller]
fn outcome(input: &[u8]) -> Result<Vec<Received>, Failure> {
    let whole = feed(std::iter::once(input));
    for cut in 0..input.len() {
        let (before, after) = input.split_at(cut);
        assert_eq!(feed([before, after].into_iter()), whole, "split at {cut}");
    }
    assert_eq!(feed(input.chunks(1)), whole, "byte by byte");
    whole
}

fn hello() -> Vec<Received> {
    vec![Received::Message(Kind::Text, b"Hello".to_vec())]
}

#[test]
fn the_examples_of_the_rfc() {
    let whole = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    assert_eq!(outcome(&masked(0xC1, &whole)), Ok(hello()), "7.2.3.1: one block");
    let parts = [masked(0x41, &whole[..3]), masked(0x89, b"?"), masked(0x80, &whole[3..])].concat();
    let expected = vec![Received::Ping(b"?".to_vec()), hello().remove(0)];
    assert_eq!(outcome(&parts), Ok(expected), "7.2.3.1: fragments");
    let stored = [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00];
    assert_eq!(outcome(&masked(0xC1, &stored)), Ok(hello()), "7.2.3.3: no compression");
    let last = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
    assert_eq!(outcome(&masked(0xC1, &last)), Ok(hello()), "7.2.3.4: a last block");
    let two = [0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00];
    assert_eq!(outcome(&masked(0xC1, &two)), Ok(hello()), "7.2.3.5: two blocks");
    assert_eq!(
        outcome(&masked(0xC2, &[0x00])),
        Ok(vec![Received::Message(Kind::Binary, vec![])]),
        "7.2.3.6: empty"
    );
    // 7.2.3.2: a second message that looks back into the first was not agreed on.
    let back = [masked(0xC1, &whole), masked(0xC1, &[0xf2, 0x00, 0x11, 0x00, 0x00])].concat();
    assert_eq!(outcome(&back).unwrap_err().code, CloseCode::INVALID_TEXT);
    // A message may come as it is, although compression is agreed on.
    assert_eq!(outcome(&masked(0x81, b"Hello")), Ok(hello()));
}

#[test]
fn rules_of_the_bit() {
    for input in [
        [masked(0x41, &[0xf2]), masked(0xC0, &[0x48])].concat(),
        masked(0xC9, b""),
        masked(0xC8, b""),
        masked(0xA1, b"x"),
        masked(0xD1, b"x"),
    ] {
        let failure = outcome(&input).unwrap_err();
        assert_eq!((failure.code, failure.reason), (CloseCode::PROTOCOL_ERROR, "a reserved bit is set"));
    }
    let failure = Decoder::new(MAX).decode(&masked(0xC1, b"x")).unwrap_err();
    assert_eq!(failure.code, CloseCode::PROTOCOL_ERROR, "not agreed on");
}

#[test]
fn what_is_no_message() {
    let code = |payload: &[u8]| outcome(&masked(0xC1, payload)).unwrap_err().code;
    assert_eq!(code(&[0xff, 0xff, 0xff]), CloseCode::INVALID_TEXT, "no deflate data");
    // 0xff in a stored block.
    assert_eq!(code(&[0x00, 0x01, 0x00, 0xfe, 0xff, 0xff, 0x00]), CloseCode::INVALID_TEXT, "no UTF-8");
}

/// Bytes that cannot be compressed (xorshift64).
fn noise(length: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(next).collect()
}

fn deflated(payload: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(payload).unwrap();
    encoder.flush().unwrap();
    let mut bytes = encoder.get_ref().clone();
    bytes.truncate(bytes.len() - 4);
    bytes
}

#[test]
fn a_message_inflates_to_as_much_as_is_allowed_and_no_more() {
    let largest = deflated(&[b'x'; MAX]);
    assert_eq!(outcome(&masked(0xC2, &largest)), Ok(vec![Received::Message(Kind::Binary, vec![b'x'; MAX])]));
    let bomb = deflated(&[b'x'; MAX + 1]);
    assert_eq!(outcome(&masked(0xC2, &bomb)).unwrap_err().code, CloseCode::TOO_BIG);
    let large = deflated(&vec![0; 100 << 20]);
    let inflated = Inflater::default().inflate(Kind::Binary, &large, MAX);
    assert_eq!(inflated.unwrap_err().code, CloseCode::TOO_BIG);
    // What cannot be compressed may be a little longer than what it stands for.
    let noise = noise(MAX);
    assert_eq!(outcome(&masked(0xC2, &deflated(&noise))), Ok(vec![Received::Message(Kind::Binary, noise)]));
    let endless: Vec<u8> = [0x00, 0x00, 0x00, 0xff, 0xff].repeat(MAX / 4);
    assert_eq!(outcome(&masked(0xC2, &endless)).unwrap_err().code, CloseCode::TOO_BIG);
}

#[test]
fn what_is_compressed_is_restored() {
    let (mut deflater, mut inflater) = (Deflater::default(), Inflater::default());
    for length in [128, 129, 1_000, 32_768, 100_000] {
        let payload: Vec<u8> = (0..length).map(|at: usize| b'a' + (at * at % 23) as u8).collect();
        for _ in 0..2 {
            let compressed = deflater.deflate(&payload).expect("it is shorter");
            assert!(compressed.len() < length && !compressed.ends_with(&[0, 0, 0xff, 0xff]));
            assert_eq!(inflater.inflate(Kind::Text, &compressed, length), Ok(payload.clone()));
            assert_eq!(compressed_frame(Kind::Text, &compressed)[0], 0xC1);
            assert_eq!(compressed_frame(Kind::Binary, &compressed)[0], 0xC2);
        }
    }
    assert_eq!(deflater.deflate(&noise(1000)), None);
    // After that it works as before.
    assert!(deflater.deflate(&[b'x'; 1000]).is_some());
}

fn agreed(offers: &str) -> Option<String> {
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{offers}\r\n");
    let mut head = Head::new();
    let parsed = head.parse(request.as_bytes(), &RequestLimits::default());
    assert!(matches!(parsed, Ok(Parse::Complete { .. })), "{parsed:?}");
    Deflate::negotiate(&head, request.as_bytes()).map(|agreed| agreed.answer())
}

#[test]
fn the_first_offer_that_can_be_kept_is_accepted() {
    const PLAIN: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
    let offer = |offer: &str| agreed(&format!("Sec-WebSocket-Extensions: {offer}\r\n"));
    for accepted in [
        "permessage-deflate",
        "permessage-deflate; client_max_window_bits",
        "permessage-deflate;client_max_window_bits=8 ; server_no_context_takeover",
        "x-other; a=1, permessage-deflate; client_max_window_bits=\"15\"",
        "permessage-deflate; unknown, permessage-deflate",
    ] {
        assert_eq!(offer(accepted).as_deref(), Some(PLAIN), "{accepted}");
    }
    for bits in 8..=15 {
        let named = format!("{PLAIN}; server_max_window_bits={bits}");
        assert_eq!(offer(&format!("permessage-deflate; server_max_window_bits={bits}")), Some(named));
    }
    for declined in [
        "x-webkit-deflate-frame",
        "permessage-deflate2",
        "permessage-deflate; server_max_window_bits",
        "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; server_max_window_bits=16",
        "permessage-deflate; server_max_window_bits=08",
        "permessage-deflate; server_max_window_bits=10; server_max_window_bits=10",
        "permessage-deflate; client_max_window_bits=x",
        "permessage-deflate; client_no_context_takeover=1",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "permessage-deflate;",
        "",
    ] {
        assert_eq!(offer(declined), None, "{declined}");
    }
    let lines = "Sec-WebSocket-Extensions: x\r\nSec-WebSocket-Extensions: permessage-deflate\r\n";
    assert_eq!(agreed(lines).as_deref(), Some(PLAIN));
    assert_eq!(agreed(""), None);
}

#[test]
fn a_message_longer_than_the_window_of_its_reader_is_not_compressed() {
    assert!(Deflate::is_for(8, 256) && !Deflate::is_for(8, 257));
    assert!(Deflate::is_for(12, 4096) && !Deflate::is_for(12, 4097));
    assert!(Deflate::is_for(15, 10 << 20), "the coder's own window");
    assert!(!Deflate::is_for(15, 127), "too short");
}
