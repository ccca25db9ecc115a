//! Feeds one input as a whole, split in two at every byte, and byte by byte: the outcome must not differ.

use weft_proto::{ChunkDecoder, Head, Parse, Reject, RequestLimits};

/// The outcome of a head, by value, so that outcomes can be compared.
pub type HeadOutcome = Result<Option<HeadView>, Reject>;

/// Everything that a parsed head reports.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadView {
    pub head_bytes: usize,
    pub text: String,
}

/// Parses `input` under every split and returns the one outcome. A head that is complete or refused before the last
/// byte must stay so with every longer prefix.
pub fn head_outcome(input: &[u8], limits: &RequestLimits) -> HeadOutcome {
    let whole = feed(input, &[input.len()], limits);
    for cut in 0..input.len() {
        assert_eq!(
            feed(input, &[cut, input.len()], limits),
            whole,
            "split at {cut}: {:?}",
            input.escape_ascii()
        );
    }
    let steps: Vec<usize> = (1..=input.len()).collect();
    assert_eq!(feed(input, &steps, limits), whole, "byte by byte: {:?}", input.escape_ascii().to_string());
    whole
}

fn feed(input: &[u8], steps: &[usize], limits: &RequestLimits) -> HeadOutcome {
    let mut head = Head::new();
    for &len in steps {
        match head.parse(&input[..len], limits)? {
            Parse::Partial => {}
            Parse::Complete { head_bytes } => {
                return Ok(Some(HeadView { head_bytes, text: describe(&head, &input[..len]) }));
            }
        }
    }
    Ok(None)
}

fn describe(head: &Head, buf: &[u8]) -> String {
    let show = |bytes: &[u8]| bytes.escape_ascii().to_string();
    format!(
        "{} {} {:?} {:?} path={} query={:?} authority={:?} {:?} keep_alive={} continue={} upgrade={:?} {:?}",
        show(head.method(buf)),
        show(head.target(buf)),
        head.version(),
        head.form(),
        show(head.path(buf)),
        head.query(buf).map(show),
        head.authority(buf).map(show),
        head.framing(),
        head.keep_alive(),
        head.expect_continue(),
        head.upgrade(buf).map(show).collect::<Vec<_>>(),
        head.headers(buf).map(|(n, v)| (show(n), show(v))).collect::<Vec<_>>(),
    )
}

/// The outcome of a chunked body: data, trailers, bytes used, and whether it ended.
pub type BodyOutcome = Result<(Vec<u8>, Vec<(String, String)>, usize, bool), Reject>;

/// Decodes `input` under every split and returns the one outcome.
pub fn body_outcome(input: &[u8], limits: &RequestLimits) -> BodyOutcome {
    let whole = decode(&[input], limits);
    for cut in 0..=input.len() {
        let halves = [&input[..cut], &input[cut..]];
        assert_eq!(decode(&halves, limits), whole, "split at {cut}: {:?}", input.escape_ascii().to_string());
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(decode(&bytes, limits), whole, "byte by byte: {:?}", input.escape_ascii().to_string());
    whole
}

fn decode(pieces: &[&[u8]], limits: &RequestLimits) -> BodyOutcome {
    let mut decoder = ChunkDecoder::new(limits);
    let (mut body, mut used) = (Vec::new(), 0);
    for piece in pieces {
        let mut input = *piece;
        while !input.is_empty() && !decoder.is_done() {
            let step = decoder.decode(input)?;
            assert!(step.consumed > 0 && step.consumed <= input.len() && step.data.end <= step.consumed);
            body.extend_from_slice(&input[step.data]);
            used += step.consumed;
            input = &input[step.consumed..];
        }
    }
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let trailers = decoder.trailers().map(|(n, v)| (text(n), text(v))).collect();
    Ok((body, trailers, used, decoder.is_done()))
}
