//! Framings of TCP services: every input is fed as a whole, split in two at every byte, and byte by byte.

use std::rc::Rc;

use weft_proto::framing::{Framer, Framing, FramingError, Prefix, Unframable};

const MAX: usize = 300;

type Outcome = (Vec<Vec<u8>>, Option<FramingError>);

fn feed<'a>(framing: &Framing, pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let (mut framer, mut all) = (Framer::new(Rc::new(framing.clone()), MAX), Vec::new());
    for mut piece in pieces {
        while !piece.is_empty() {
            match framer.decode(piece) {
                Ok((used, message)) => {
                    assert!(used > 0 && (message.is_some() || used == piece.len()));
                    assert!(message.is_none() || !framer.is_within());
                    all.extend(message);
                    piece = &piece[used..];
                }
                Err(error) => return (all, Some(error)),
            }
        }
    }
    (all, None)
}

#[track_caller]
fn outcome(framing: &Framing, input: &[u8]) -> Outcome {
    let whole = feed(framing, std::iter::once(input));
    for cut in 0..input.len() {
        let (before, after) = input.split_at(cut);
        assert_eq!(feed(framing, [before, after].into_iter()), whole, "{framing:?} split at {cut}");
    }
    assert_eq!(feed(framing, input.chunks(1)), whole, "{framing:?} byte by byte");
    whole
}

fn delimited(delimiter: &[u8]) -> Framing {
    Framing::Delimited(delimiter.into())
}

fn prefixes() -> impl Iterator<Item = Prefix> {
    [1, 2, 4, 8].into_iter().flat_map(|bytes| {
        [(false, false), (true, false), (false, true), (true, true)]
            .map(|(is_little_endian, counts_itself)| Prefix { bytes, is_little_endian, counts_itself })
    })
}

#[test]
fn what_is_sent_is_received() {
    let messages: Vec<Vec<u8>> = [0, 1, 2, 100, 200].map(|length| vec![b'x'; length]).to_vec();
    let framings =
        prefixes().map(Framing::Prefixed).chain([b"\n".as_slice(), b"\r\n", b"--end--"].map(delimited));
    for framing in framings {
        let bytes: Vec<u8> =
            messages.iter().flat_map(|message| framing.encode(message).expect("it can be sent")).collect();
        assert_eq!(outcome(&framing, &bytes), (messages.clone(), None), "{framing:?}");
    }
    assert_eq!(Framing::Raw.encode(b"a"), Ok(b"a".to_vec()));
    assert_eq!(feed(&Framing::Raw, [&b"a"[..], b"bc"].into_iter()).0, [b"a".to_vec(), b"bc".to_vec()]);
}

#[test]
fn the_bytes_of_prefixes() {
    let prefix = |bytes, is_little_endian, counts_itself| {
        let framing = Framing::Prefixed(Prefix { bytes, is_little_endian, counts_itself });
        framing.encode(b"ab").expect("it can be sent")
    };
    assert_eq!(prefix(2, false, false), b"\0\x02ab");
    assert_eq!(prefix(2, true, false), b"\x02\0ab");
    assert_eq!(prefix(4, false, true), b"\0\0\0\x06ab");
    assert_eq!(prefix(8, true, true), b"\x0a\0\0\0\0\0\0\0ab");
}

#[test]
fn a_delimiter_may_begin_like_itself() {
    let framing = delimited(b"aab");
    assert_eq!(outcome(&framing, b"aaab").0, [b"a".to_vec()]);
    assert_eq!(outcome(&framing, b"xaaxaabaab").0, [b"xaax".to_vec(), b"".to_vec()]);
    assert_eq!(outcome(&framing, b"aa"), (vec![], None));
}

#[test]
fn a_message_is_as_large_as_allowed_and_no_larger() {
    for delimiter in [&b"\n"[..], b"\r\n", b"0123456789"] {
        let framing = delimited(delimiter);
        let whole = framing.encode(&[b'x'; MAX]).unwrap();
        assert_eq!(outcome(&framing, &whole), (vec![vec![b'x'; MAX]], None));
        let larger = framing.encode(&[b'x'; MAX + 1]).unwrap();
        assert_eq!(outcome(&framing, &larger), (vec![], Some(FramingError::TooBig)));
        assert_eq!(outcome(&framing, &[b'x'; MAX + 10]).1, Some(FramingError::TooBig), "no delimiter at all");
    }
    for prefix in prefixes().filter(|prefix| prefix.bytes > 1) {
        let framing = Framing::Prefixed(prefix);
        let whole = framing.encode(&[b'x'; MAX]).unwrap();
        assert_eq!(outcome(&framing, &whole), (vec![vec![b'x'; MAX]], None), "{prefix:?}");
        let larger = framing.encode(&[b'x'; MAX + 1]).unwrap();
        // The prefix alone says it.
        assert_eq!(outcome(&framing, &larger[..prefix.bytes.into()]).1, Some(FramingError::TooBig));
    }
    let announced = Framing::Prefixed(Prefix { bytes: 8, is_little_endian: false, counts_itself: false });
    assert_eq!(outcome(&announced, &[0xFF; 8]).1, Some(FramingError::TooBig));
}

#[test]
fn a_prefix_that_counts_itself_is_no_less_than_its_bytes() {
    let framing = Framing::Prefixed(Prefix { bytes: 4, is_little_endian: false, counts_itself: true });
    assert_eq!(outcome(&framing, &[0, 0, 0, 4]), (vec![vec![]], None));
    assert_eq!(outcome(&framing, &[0, 0, 0, 3]).1, Some(FramingError::Short));
}

#[test]
fn what_cannot_be_sent() {
    assert_eq!(delimited(b"\r\n").encode(b"a\r\nb"), Err(Unframable::Delimiter));
    let short = |counts_itself| {
        Framing::Prefixed(Prefix { bytes: 1, is_little_endian: false, counts_itself }).encode(&[0; 255])
    };
    assert!(short(false).is_ok());
    assert_eq!(short(true), Err(Unframable::Length));
}

#[test]
fn a_reader_of_raw_bytes_may_give_some_back() {
    let mut framer = Framer::new(Rc::new(Framing::Raw), 10);
    assert_eq!(framer.decode(b"abc"), Ok((3, Some(b"abc".to_vec()))));
    framer.give_back(b"c", 4);
    assert!(framer.is_within());
    assert_eq!(framer.decode(b"de"), Ok((2, None)));
    assert_eq!(framer.decode(b"fgh"), Ok((3, Some(b"cdefgh".to_vec()))));
    assert!(!framer.is_within());
    // No more than a message may have, however it comes.
    assert_eq!(framer.decode(&[b'x'; 25]), Ok((10, Some(vec![b'x'; 10]))));
    framer.give_back(&[b'x'; 9], 10);
    assert_eq!(framer.decode(b"yz"), Ok((1, Some(b"xxxxxxxxxy".to_vec()))));
}
