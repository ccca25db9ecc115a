//! What the route of a path is called: its first segment, and whether it leads further.
//!
//! Must not know which routes there are. Invariant: a name can stand in a label and in a terminal as it is.

use super::names::NAME_BYTES_MAX;

/// The name of a path as sent: `/` and `/about` are themselves, `/users/7/edit` is `/users/*`. Nothing if a name cannot be
/// made of it.
pub fn of_path(path: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let rest = path.strip_prefix(b"/")?;
    let end = rest.iter().position(|byte| *byte == b'/');
    let segment = &rest[..end.unwrap_or(rest.len())];
    let is_long = segment.len() + b"//*".len() > NAME_BYTES_MAX;
    if is_long || !segment.iter().copied().all(is_plain) {
        return None;
    }
    out.clear();
    out.push(b'/');
    out.extend_from_slice(segment);
    out.extend_from_slice(if end.is_some() { b"/*" } else { b"" });
    Some(())
}

/// Whether a byte can stand in a name: printable, and nothing that a label would have to escape.
pub fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_called_by_its_first_segment() {
        let name = |path: &str| {
            let mut name = Vec::new();
            of_path(path.as_bytes(), &mut name).map(|()| String::from_utf8(name).unwrap())
        };
        for (path, expected) in [
            ("/", Some("/")),
            ("/about", Some("/about")),
            ("/users/", Some("/users/*")),
            ("/users/7/edit", Some("/users/*")),
            ("//evil", Some("//*")),
            ("/caf%C3%A9", Some("/caf%C3%A9")),
            ("*", None),
            ("", None),
            ("/a\"b", None),
            ("/a\\b", None),
            ("/a b", None),
            ("/a\u{e9}", None),
        ] {
            assert_eq!(name(path).as_deref(), expected, "{path}");
        }
        assert_eq!(name(&format!("/{}", "x".repeat(NAME_BYTES_MAX))), None);
    }
}
