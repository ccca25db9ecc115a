//! Entity tags (RFC 9110 section 8.8.3) and lists of them.
//!
//! Must not know resources. Invariant: a malformed tag equals nothing, not even itself.

/// An entity tag, borrowed from a field value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntityTag<'a> {
    /// `W/"…"`: the representations are equivalent, but not identical byte for byte.
    pub weak: bool,
    /// The text between the quotes.
    pub opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Reads a tag that fills the whole value, as in an ETag field.
    pub fn parse(value: &'a [u8]) -> Option<EntityTag<'a>> {
        match Self::take(value)? {
            (tag, []) => Some(tag),
            _ => None,
        }
    }

    /// Strong comparison: both tags are strong, and equal (RFC 9110 8.8.3.2).
    pub fn strong_eq(self, other: EntityTag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Weak comparison: equal, whether weak or strong (RFC 9110 8.8.3.2).
    pub fn weak_eq(self, other: EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }

    /// Splits the tag at the start from the rest. `etagc` is any visible character except the quote, and
    /// obs-text.
    fn take(value: &'a [u8]) -> Option<(EntityTag<'a>, &'a [u8])> {
        let (weak, quoted) = match value {
            [b'W', b'/', rest @ ..] => (true, rest),
            _ => (false, value),
        };
        let inner = quoted.strip_prefix(b"\"")?;
        let end = inner.iter().position(|&b| b == b'"')?;
        let opaque = &inner[..end];
        if opaque.iter().any(|&b| b <= b' ' || b == 0x7f) {
            return None;
        }
        Some((EntityTag { weak, opaque }, &inner[end + 1..]))
    }
}

/// The tags of an If-Match or If-None-Match value, up to the first malformed one.
pub(crate) fn entity_tags(value: &[u8]) -> impl Iterator<Item = EntityTag<'_>> {
    let mut rest = value;
    let mut first = true;
    std::iter::from_fn(move || {
        // Members are separated by commas and OWS; empty ones are allowed (RFC 9110 5.6.1).
        let skipped = rest.iter().position(|&b| !matches!(b, b',' | b' ' | b'\t'))?;
        if !first && !rest[..skipped].contains(&b',') {
            return None;
        }
        first = false;
        let (tag, after) = EntityTag::take(&rest[skipped..])?;
        rest = after;
        Some(tag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_tags() {
        assert_eq!(EntityTag::parse(b"\"x\""), Some(EntityTag { weak: false, opaque: b"x" }));
        assert_eq!(EntityTag::parse(b"W/\"\""), Some(EntityTag { weak: true, opaque: b"" }));
        for bad in [&b""[..], b"x", b"\"x", b"w/\"x\"", b"\"a b\"", b"\"x\" ", b"\"x\"y", b"W/x", b"*"] {
            assert_eq!(EntityTag::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn comparison_table_of_the_rfc() {
        let tag = |text: &'static str| EntityTag::parse(text.as_bytes()).unwrap();
        let cases = [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ];
        for (a, b, strong, weak) in cases {
            assert_eq!((tag(a).strong_eq(tag(b)), tag(a).weak_eq(tag(b))), (strong, weak), "{a} {b}");
        }
    }

    #[test]
    fn lists_keep_commas_within_quotes() {
        let read = |text: &'static str| entity_tags(text.as_bytes()).map(|t| t.opaque).collect::<Vec<_>>();
        assert_eq!(read("\"a\", W/\"b,c\",, \"d\""), [&b"a"[..], b"b,c", b"d"]);
        assert_eq!(read(" ,\"a\""), [&b"a"[..]]);
        assert_eq!(read("\"a\" \"b\""), [&b"a"[..]]);
        assert_eq!(read("\"a\", oops, \"b\""), [&b"a"[..]]);
        assert!(read("").is_empty() && read("*").is_empty());
    }
}
