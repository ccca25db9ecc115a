//! Server-sent events as bytes: the format text/event-stream (HTML, section 9.2).
//!
//! Must not know who gets an event. Invariant: whatever a payload contains, it is the data of one event.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A comment: it shows that both ends are alive, and no event comes of it.
pub const HEARTBEAT: &[u8] = b":\n\n";
/// The name of events whose data is bytes, as base64, unless they have another one.
pub const BINARY: &[u8] = b"binary";

/// An event. `id` and `name` MUST be without line breaks. A receiver gets the line breaks of `data`, of whichever kind, as LF.
pub fn event(id: Option<&[u8]>, name: Option<&[u8]>, data: &[u8]) -> Vec<u8> {
    let mut event = Vec::with_capacity(data.len() + 64);
    for (field, value) in [(&b"event: "[..], name), (b"id: ", id)] {
        if let Some(value) = value {
            event.extend_from_slice(field);
            event.extend_from_slice(value);
            event.push(b'\n');
        }
    }
    let mut rest = data;
    loop {
        let end = memchr::memchr2(b'\r', b'\n', rest);
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
        event.push(b'\n');
        let Some(end) = end else { break };
        rest = &rest[end + if rest[end..].starts_with(b"\r\n") { 2 } else { 1 }..];
    }
    event.push(b'\n');
    event
}

/// An event of bytes, which the format has no other place for.
pub fn binary_event(id: Option<&[u8]>, name: Option<&[u8]>, bytes: &[u8]) -> Vec<u8> {
    event(id, name.or(Some(BINARY)), STANDARD.encode(bytes).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_data_is_a_line_of_the_event() {
        for (data, lines) in [
            ("", "data: \n"),
            ("one", "data: one\n"),
            ("one\ntwo\r\nthree\rfour", "data: one\ndata: two\ndata: three\ndata: four\n"),
            ("\n\n", "data: \ndata: \ndata: \n"),
            ("\r\n\r", "data: \ndata: \ndata: \n"),
            ("id: 7", "data: id: 7\n"),
        ] {
            assert_eq!(event(None, None, data.as_bytes()), format!("{lines}\n").as_bytes(), "{data:?}");
        }
        let named = event(Some(b"5-a"), Some(b"news"), b"x");
        assert_eq!(named, b"event: news\nid: 5-a\ndata: x\n\n");
        assert_eq!(binary_event(None, None, &[0xFF, 10]), b"event: binary\ndata: /wo=\n\n");
    }
}
