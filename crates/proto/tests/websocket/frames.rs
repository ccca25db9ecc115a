//! Frames of clients: every input is fed as a whole, split in two at every byte, and byte by byte.

use weft_proto::websocket::{
    CloseCode, Decoder, Failure, Kind, REASON_BYTES_MAX, Received, close_frame, frame, ping_frame, pong_frame,
};

const MAX: usize = 70_000;
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

type Outcome = (Vec<Received>, Option<Failure>);

/// A frame as a client sends it, with its first byte and the number that stands for its length.
fn raw(first: u8, length: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    bytes.extend_from_slice(length);
    bytes[1] |= 0x80;
    bytes.extend_from_slice(&MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    match payload.len() {
        length @ 0..=125 => raw(first, &[length as u8], payload),
        length @ 126..=0xFFFF => raw(first, &[&[126][..], &(length as u16).to_be_bytes()].concat(), payload),
        length => raw(first, &[&[127][..], &(length as u64).to_be_bytes()].concat(), payload),
    }
}

fn feed<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let (mut decoder, mut all) = (Decoder::new(MAX), Vec::new());
    for mut piece in pieces {
        while !piece.is_empty() {
            match decoder.decode(piece) {
                Ok((used, received)) => {
                    assert!(used > 0 && (received.is_some() || used == piece.len()));
                    all.extend(received);
                    piece = &piece[used..];
                }
                Err(failure) => return (all, Some(failure)),
            }
        }
    }
    (all, None)
}

#[track_caller]
fn outcome(input: &[u8]) -> Outcome {
    let whole = feed(std::iter::once(input));
    for cut in 0..input.len() {
        let (before, after) = input.split_at(cut);
        assert_eq!(feed([before, after].into_iter()), whole, "split at {cut}");
    }
    assert_eq!(feed(input.chunks(1)), whole, "byte by byte");
    whole
}

#[track_caller]
fn fails(input: &[u8], code: CloseCode, reason: &str) {
    let failure = outcome(input).1.unwrap_or_else(|| panic!("accepted: {input:02x?}"));
    assert_eq!(failure.code, code);
    assert!(failure.reason.contains(reason), "{failure:?}");
}

fn text(text: &str) -> Received {
    Received::Message(Kind::Text, text.as_bytes().to_vec())
}

#[test]
fn the_examples_of_the_rfc() {
    let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    assert_eq!(outcome(&hello), (vec![text("Hello")], None));
    assert_eq!(frame(Kind::Text, b"Hello"), [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
    assert_eq!(ping_frame(b"Hello"), [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
    assert_eq!(pong_frame(b"Hello"), [0x8a, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
    assert_eq!(frame(Kind::Binary, &[7; 256])[..4], [0x82, 0x7E, 0x01, 0x00]);
    assert_eq!(frame(Kind::Binary, &[7; 65536])[..10], [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0]);
}

#[test]
fn messages_follow_each_other_and_may_be_empty() {
    let input = [masked(0x82, &[0, 255]), masked(0x81, b""), masked(0x82, b""), masked(0x81, b"x")].concat();
    let binary = |bytes: &[u8]| Received::Message(Kind::Binary, bytes.to_vec());
    assert_eq!(outcome(&input), (vec![binary(&[0, 255]), text(""), binary(b""), text("x")], None));
}

#[test]
fn fragments_are_one_message_and_control_frames_come_between() {
    let input = [
        masked(0x01, b"a\xe2\x82"),
        masked(0x89, b"ping"),
        masked(0x00, b""),
        masked(0x8A, b"pong"),
        masked(0x80, b"\xacb"),
    ]
    .concat();
    let expected = [Received::Ping(b"ping".to_vec()), Received::Pong(b"pong".to_vec()), text("a\u{20ac}b")];
    assert_eq!(outcome(&input), (expected.to_vec(), None));
}

#[test]
fn long_messages() {
    for length in [125, 126, 127, 0xFFFF, 0x10000, MAX] {
        let payload: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let received = feed(masked(0x82, &payload).chunks(1000));
        assert_eq!(received, (vec![Received::Message(Kind::Binary, payload)], None), "{length}");
    }
}

#[test]
fn too_big_is_known_from_the_header() {
    let reason = "too big";
    fails(
        &raw(0x82, &[&[127][..], &(MAX as u64 + 1).to_be_bytes()].concat(), b""),
        CloseCode::TOO_BIG,
        reason,
    );
    fails(
        &raw(0x82, &[&[127][..], &(i64::MAX as u64).to_be_bytes()].concat(), b""),
        CloseCode::TOO_BIG,
        reason,
    );
    let (first, rest) = (masked(0x02, &[1; 100]), (MAX as u64 - 99).to_be_bytes());
    fails(&[first, raw(0x80, &[&[127][..], &rest].concat(), b"")].concat(), CloseCode::TOO_BIG, reason);
}

#[test]
fn rules_of_headers() {
    let protocol = |input: &[u8], reason| fails(input, CloseCode::PROTOCOL_ERROR, reason);
    for bit in [0x40, 0x20, 0x10] {
        protocol(&masked(0x81 | bit, b"x"), "reserved");
    }
    for opcode in [0x3, 0x7, 0xB, 0xF] {
        protocol(&masked(0x80 | opcode, b""), "opcode");
    }
    protocol(&[0x81, 0x01, b'x'], "not masked");
    protocol(&raw(0x82, &[126, 0, 125], b""), "shortest");
    protocol(&raw(0x82, &[127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], b""), "shortest");
    protocol(&raw(0x82, &[127, 0x80, 0, 0, 0, 0, 0, 0, 0], b""), "shortest");
    for opcode in [0x8, 0x9, 0xA] {
        protocol(&raw(0x80 | opcode, &[126, 0, 126], &[0; 126]), "longer than 125");
        protocol(&masked(opcode, b""), "fragmented");
    }
    protocol(&masked(0x80, b"x"), "to continue");
    protocol(&masked(0x00, b"x"), "to continue");
    protocol(&[masked(0x01, b"x"), masked(0x81, b"y")].concat(), "within another");
    protocol(&[masked(0x02, b"x"), masked(0x02, b"y")].concat(), "within another");
}

#[test]
fn text_is_checked_as_it_arrives() {
    for wrong in [&b"\xff"[..], b"a\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82x", b"\x80"] {
        fails(&masked(0x81, wrong), CloseCode::INVALID_TEXT, "UTF-8");
    }
    fails(&masked(0x81, b"abc\xe2\x82"), CloseCode::INVALID_TEXT, "UTF-8");
    fails(&[masked(0x01, b"\xe2"), masked(0x80, b"\x82")].concat(), CloseCode::INVALID_TEXT, "UTF-8");
    // The first wrong byte is enough, long before the end of the message.
    let long = raw(0x81, &[126, 0xFF, 0xFF], b"abc\xff");
    fails(&long, CloseCode::INVALID_TEXT, "UTF-8");
    let all: String = ('\u{0}'..=char::MAX).step_by(97).collect();
    assert_eq!(feed(masked(0x81, all.as_bytes()).chunks(7)), (vec![text(&all)], None));
}

#[test]
fn closes_have_codes_and_reasons() {
    let closed = |code: u16, reason: &str| Received::Close(CloseCode(code), reason.to_owned());
    assert_eq!(outcome(&masked(0x88, b"")), (vec![closed(1005, "")], None));
    for code in [1000u16, 1001, 1003, 1007, 1011, 1014, 3000, 4999] {
        let payload = [&code.to_be_bytes()[..], "bye \u{e9}".as_bytes()].concat();
        assert_eq!(outcome(&masked(0x88, &payload)), (vec![closed(code, "bye \u{e9}")], None));
    }
    for code in [0u16, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535] {
        fails(&masked(0x88, &code.to_be_bytes()), CloseCode::PROTOCOL_ERROR, "must not be sent");
    }
    fails(&masked(0x88, &[3]), CloseCode::PROTOCOL_ERROR, "must not be sent");
    fails(&masked(0x88, b"\x03\xe8\xff"), CloseCode::INVALID_TEXT, "UTF-8");
    let after = [masked(0x88, b"\x03\xe8"), masked(0x81, b"x")].concat();
    assert_eq!(outcome(&after).0, [closed(1000, "")]);
    fails(&after, CloseCode::PROTOCOL_ERROR, "follows the close");
}

#[test]
fn close_frames_are_cut_and_never_name_a_forbidden_code() {
    assert_eq!(close_frame(CloseCode::GOING_AWAY, "x"), [0x88, 3, 3, 0xE9, b'x']);
    assert_eq!(close_frame(CloseCode::NO_STATUS, "x"), [0x88, 0]);
    assert_eq!(close_frame(CloseCode::ABNORMAL, ""), [0x88, 0]);
    let cut = close_frame(CloseCode::NORMAL, &"\u{20ac}".repeat(50));
    assert_eq!(cut.len(), 4 + REASON_BYTES_MAX);
    let cut = close_frame(CloseCode::NORMAL, &format!("x{}", "\u{20ac}".repeat(50)));
    assert_eq!(std::str::from_utf8(&cut[4..]).unwrap().chars().count(), 41);
}

#[test]
fn a_decoder_says_whether_something_is_on_its_way() {
    let mut decoder = Decoder::new(MAX);
    assert!(!decoder.is_within());
    for piece in masked(0x81, b"x").chunks(1) {
        let received = decoder.decode(piece).unwrap().1;
        assert_eq!(decoder.is_within(), received.is_none());
    }
}
