//! The path of a request's target as a path in the document root.
//!
//! Must not look at the file system. Invariant: a [`Wanted`] has been decoded exactly once and holds no NUL, no `.` and no
//! `..`, so that no way of writing it leads out of the document root.

/// A decoded path.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its segments, none of them empty.
    pub segments: Vec<Vec<u8>>,
    /// It ends with a slash: it can only be a directory.
    pub directory: bool,
}

impl Wanted {
    /// The document root itself.
    pub fn root() -> Wanted {
        Wanted { segments: Vec::new(), directory: true }
    }

    /// Decodes a path as it was sent; repeated slashes are one.
    ///
    /// # Errors
    /// The status to refuse it with: 400 for what no client writes that means well.
    pub fn read(path: &[u8]) -> Result<Wanted, u16> {
        let decoded = decode(path)?;
        if decoded.first() != Some(&b'/') {
            return Err(400);
        }
        let mut segments = Vec::new();
        for segment in decoded.split(|byte| *byte == b'/') {
            match segment {
                b"" | b"." => (),
                b".." => return Err(400),
                name => segments.push(name.to_vec()),
            }
        }
        let last = decoded.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        Ok(Wanted { segments, directory: matches!(last, b"" | b".") })
    }

    /// It names something that is not for clients: a name that begins with a dot (but for `.well-known`, RFC 8615), or one
    /// with a backslash, which is a separator to some programs.
    pub fn is_hidden(&self) -> bool {
        let hidden = |name: &[u8]| name.first() == Some(&b'.') || name.contains(&b'\\');
        let well_known = self.segments.first().is_some_and(|name| name == b".well-known");
        self.segments.iter().skip(usize::from(well_known)).any(|name| hidden(name))
    }

    /// The first `count` segments as a path: `/a/b`; `/` for none.
    pub fn head(&self, count: usize) -> Vec<u8> {
        join(&self.segments[..count])
    }

    /// What follows them, with the slash at its end if there was one.
    pub fn tail(&self, count: usize) -> Vec<u8> {
        let rest = &self.segments[count..];
        match (rest.is_empty(), self.directory) {
            (true, true) => b"/".to_vec(),
            (true, false) => Vec::new(),
            (false, slash) => [join(rest), if slash { b"/".to_vec() } else { Vec::new() }].concat(),
        }
    }

    /// It as a URI's path with a slash at the end, for a redirection to this server: it begins with exactly one slash, so
    /// that it cannot name another host.
    pub fn as_directory_uri(&self) -> String {
        let mut uri = String::from("/");
        for byte in self.segments.iter().flat_map(|segment| segment.iter().chain(b"/")) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                    uri.push(char::from(*byte));
                }
                other => uri.push_str(&format!("%{other:02X}")),
            }
        }
        uri
    }
}

fn join(segments: &[Vec<u8>]) -> Vec<u8> {
    if segments.is_empty() {
        return b"/".to_vec();
    }
    segments.iter().flat_map(|segment| b"/".iter().chain(segment)).copied().collect()
}

/// Percent-decoding (RFC 3986 section 2.1), once. NUL ends strings in C: it is refused.
fn decode(path: &[u8]) -> Result<Vec<u8>, u16> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16)).ok_or(400u16);
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.iter();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => (digit(rest.next())? << 4 | digit(rest.next())?) as u8,
            other => *other,
        };
        if byte == 0 {
            return Err(400);
        }
        decoded.push(byte);
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    fn read(path: &str) -> Result<(String, bool), u16> {
        let wanted = Wanted::read(path.as_bytes())?;
        let text = String::from_utf8(wanted.head(wanted.segments.len())).expect("the tests' paths are text");
        Ok((text, wanted.directory))
    }

    #[test]
    fn paths_are_decoded_once_and_normal() {
        for (path, expected, directory) in [
            ("/", "/", true),
            ("/a/b", "/a/b", false),
            ("/a/b/", "/a/b", true),
            ("//a///b", "/a/b", false),
            ("/a/./b/.", "/a/b", true),
            ("/%61%2Fb", "/a/b", false),
            ("/a%2520b", "/a%20b", false),
            ("/%252e%252e/etc", "/%2e%2e/etc", false),
            ("/a+b%20c", "/a+b c", false),
        ] {
            assert_eq!(read(path), Ok((expected.to_owned(), directory)), "{path}");
        }
    }

    #[test]
    fn what_climbs_or_is_malformed_is_refused() {
        for path in [
            "",
            "*",
            "a",
            "/..",
            "/a/../b",
            "/%2e%2e/b",
            "/a/%2E./b",
            "/..%2fb",
            "/%00",
            "/a%",
            "/a%2",
            "/%zz",
        ] {
            assert_eq!(read(path), Err(400), "{path}");
        }
    }

    #[test]
    fn hidden_names_are_known() {
        let hidden = |path: &str| Wanted::read(path.as_bytes()).expect("well-formed").is_hidden();
        for path in
            ["/.env", "/a/.git/config", "/%2egit", "/.well-known/.secret", "/a%5cb", "/...", "/.htaccess/"]
        {
            assert!(hidden(path), "{path}");
        }
        for path in ["/", "/a.b", "/.well-known/acme-challenge/x", "/a/b.c.d"] {
            assert!(!hidden(path), "{path}");
        }
    }

    #[test]
    fn redirections_stay_on_this_host() {
        let uri = |path: &str| Wanted::read(path.as_bytes()).expect("well-formed").as_directory_uri();
        assert_eq!(uri("//evil.example/a"), "/evil.example/a/");
        assert_eq!(uri("/a%0d%0aSet-Cookie:x"), "/a%0D%0ASet-Cookie%3Ax/");
    }
}
