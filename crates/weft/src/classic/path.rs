//! The path of a request's target as a path in the document root.
//!
//! Must not access the file system. Invariant: a [`Wanted`] has been decoded exactly once and holds no NUL, no `.` and
//! no `..`, so that no spelling of it leads out of the document root.

/// A decoded path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// `/a/b`: without empty segments and without a final slash. Empty for the document root itself.
    pub path: Vec<u8>,
    /// Whether it ends with a slash: it can then only be a directory.
    pub directory: bool,
}

impl Wanted {
    /// The document root itself.
    pub fn root() -> Wanted {
        Wanted { path: Vec::new(), directory: true }
    }

    /// Decodes a path as it was sent; repeated slashes count as one.
    ///
    /// # Errors
    /// The status with which to refuse it: 400 for a path that no well-meaning client sends.
    pub fn read(path: &[u8]) -> Result<Wanted, u16> {
        Wanted::normal(&decode(path)?)
    }

    /// The same of a path that is decoded already.
    ///
    /// # Errors
    /// As [`Wanted::read`].
    pub fn normal(decoded: &[u8]) -> Result<Wanted, u16> {
        if decoded.first() != Some(&b'/') {
            return Err(400);
        }
        let mut path = Vec::with_capacity(decoded.len());
        let mut last: &[u8] = b"";
        for segment in decoded.split(|byte| *byte == b'/') {
            last = segment;
            match segment {
                b"" | b"." => (),
                b".." => return Err(400),
                name => {
                    path.push(b'/');
                    path.extend_from_slice(name);
                }
            }
        }
        Ok(Wanted { directory: matches!(last, b"" | b"."), path })
    }

    /// Whether it names something that is not for clients: a name that begins with a dot (except `.well-known`, RFC
    /// 8615), or one with a backslash, which some programs take for a separator.
    pub fn is_hidden(&self) -> bool {
        let rest = match self.path.strip_prefix(b"/.well-known") {
            Some(rest) if matches!(rest.first(), None | Some(b'/')) => rest,
            _ => &self.path,
        };
        rest.contains(&b'\\') || rest.windows(2).any(|pair| pair == b"/.")
    }

    /// The path as rules see it: with its final slash, and a slash for the document root.
    pub fn as_asked(&self) -> Vec<u8> {
        [&self.path[..], if self.directory { b"/" } else { b"" }].concat()
    }

    /// The part of it below `prefix`, if it is there.
    pub fn below(&self, prefix: &[u8]) -> Option<Wanted> {
        let path = crate::config::behind(prefix, false, &self.path)?.to_vec();
        Some(Wanted { path, directory: self.directory })
    }

    /// The names on the way to it, from the shortest to the path itself: `/a`, `/a/b`.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        let slashes = self.path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/');
        let ends = slashes.map(|(at, _)| at).chain((!self.path.is_empty()).then_some(self.path.len()));
        ends.map(|end| &self.path[..end])
    }

    /// The part after one of those names, with the final slash if there was one.
    pub fn behind(&self, name: &[u8]) -> Vec<u8> {
        [&self.path[name.len()..], if self.directory { b"/" } else { b"" }].concat()
    }

    /// The path as a URI path with a final slash, for a redirect to this server: it begins with exactly one slash, so
    /// that it cannot name another host.
    pub fn as_directory_uri(&self) -> String {
        let mut uri = String::with_capacity(self.path.len() + 1);
        for byte in self.path.iter().chain(b"/") {
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

/// Percent-decoding (RFC 3986 section 2.1), once. NUL is refused, because it ends strings in C.
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
        let text = String::from_utf8(wanted.path).expect("the tests' paths are text");
        Ok((text, wanted.directory))
    }

    #[test]
    fn paths_are_decoded_once_and_normal() {
        for (path, expected, directory) in [
            ("/", "", true),
            ("/.", "", true),
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
    fn names_are_those_on_the_way() {
        let wanted = Wanted::read(b"/a/b.c//d/").expect("well-formed");
        assert_eq!(wanted.names().collect::<Vec<_>>(), [&b"/a"[..], b"/a/b.c", b"/a/b.c/d"]);
        assert_eq!(wanted.behind(b"/a"), b"/b.c/d/");
        assert_eq!(wanted.behind(b"/a/b.c/d"), b"/");
        assert_eq!(Wanted::root().names().count(), 0);
    }

    #[test]
    fn redirections_stay_on_this_host() {
        let uri = |path: &str| Wanted::read(path.as_bytes()).expect("well-formed").as_directory_uri();
        assert_eq!(uri("//evil.example/a"), "/evil.example/a/");
        assert_eq!(uri("/a%0d%0aSet-Cookie:x"), "/a%0D%0ASet-Cookie%3Ax/");
    }
}
