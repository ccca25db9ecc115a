//! Which paths a rule is for, and where its captures go: the `path`, `match`, `redirect` and `rewrite` of a `[[rule]]`.
//!
//! Must not know requests. Invariants: a path is compared after it was decoded and made normal, byte by byte, so it has one
//! spelling here; what a client sent never becomes the host of a redirect, nor a separator of a query.

use regex::bytes::{Regex, RegexBuilder};

/// Which paths a rule is for.
#[derive(Debug, Clone)]
pub enum Condition {
    /// These paths and everything below them: without a final slash, and in lower case if case does not count.
    Path {
        /// The paths.
        paths: Vec<Vec<u8>>,
        /// Whether another case is the same path.
        any_case: bool,
    },
    /// The paths that this finds something in.
    Match(Regex),
}

impl PartialEq for Condition {
    fn eq(&self, other: &Condition) -> bool {
        match (self, other) {
            (Condition::Match(a), Condition::Match(b)) => a.as_str() == b.as_str(),
            (Condition::Path { paths: a, .. }, Condition::Path { paths: b, .. }) => a == b,
            _ => false,
        }
    }
}

impl Condition {
    /// These paths, as an operator writes them.
    ///
    /// # Errors
    /// One that does not begin with a slash, or climbs.
    pub fn of_paths(paths: Vec<String>, any_case: bool) -> Result<Condition, String> {
        let normal = |path: String| {
            if !path.starts_with('/') {
                return Err(format!("path: \"{path}\" does not begin with a slash"));
            }
            let segments = path.split('/').filter(|segment| !matches!(*segment, "" | "."));
            let mut normal = Vec::with_capacity(path.len());
            for segment in segments {
                if segment == ".." {
                    return Err(format!("path: \"{path}\" climbs: no request has such a path"));
                }
                normal.push(b'/');
                normal.extend_from_slice(segment.as_bytes());
            }
            if any_case {
                normal.make_ascii_lowercase();
            }
            Ok(normal)
        };
        let paths = paths.into_iter().map(normal).collect::<Result<Vec<_>, _>>()?;
        if paths.is_empty() {
            return Err("path: names no path".into());
        }
        Ok(Condition::Path { paths, any_case })
    }

    /// A regular expression. `^` and `$` are the ends of the path, `.` is any byte.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_expression(text: &str, any_case: bool) -> Result<Condition, String> {
        let mut builder = RegexBuilder::new(text);
        // Otherwise a line feed, or a byte that is no text, would hide a path from an expression with `.*`.
        builder.unicode(false).dot_matches_new_line(true).case_insensitive(any_case);
        let regex = builder.build().map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("match: \"{text}\" is not a regular expression: {reason}")
        })?;
        Ok(Condition::Match(regex))
    }

    /// How many captures it has, without `$0`.
    pub fn captures(&self) -> usize {
        match self {
            Condition::Path { .. } => 1,
            Condition::Match(regex) => regex.captures_len() - 1,
        }
    }

    /// Whether the rule is for this path.
    pub fn fits(&self, path: &[u8]) -> bool {
        match self {
            Condition::Path { paths, any_case } => {
                paths.iter().any(|prefix| behind(prefix, *any_case, path).is_some())
            }
            Condition::Match(regex) => regex.is_match(path),
        }
    }

    /// The path and its captures, if the rule is for it. `$1` of a `path` is what follows it.
    pub fn groups<'p>(&self, path: &'p [u8]) -> Option<Vec<&'p [u8]>> {
        match self {
            Condition::Path { paths, any_case } => {
                let rest = paths.iter().find_map(|prefix| behind(prefix, *any_case, path))?;
                Some(vec![path, rest])
            }
            Condition::Match(regex) => {
                let found = regex.captures(path)?;
                Some(found.iter().map(|group| group.map_or(&b""[..], |group| group.as_bytes())).collect())
            }
        }
    }
}

/// What follows `prefix` in `path`, if that is the path or leads to it.
pub fn behind<'p>(prefix: &[u8], any_case: bool, path: &'p [u8]) -> Option<&'p [u8]> {
    let (start, rest) = path.split_at_checked(prefix.len())?;
    let same = if any_case { start.eq_ignore_ascii_case(prefix) } else { start == prefix };
    (same && matches!(rest.first(), None | Some(b'/'))).then_some(rest)
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Capture(usize),
}

/// The target of `redirect` or `rewrite`: text with captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// `https://HOST`, or nothing.
    origin: String,
    path: Vec<Piece>,
    query: Option<Vec<Piece>>,
    /// Whether the query of the request follows that of the template.
    keeps_query: bool,
}

impl Template {
    /// Reads the target of a `redirect`: a path, or a URL whose host has no captures.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_redirect(text: &str, captures: usize) -> Result<Template, String> {
        if text.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(format!("redirect: \"{text}\" has characters that a URL has only percent-encoded"));
        }
        let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme));
        let after = scheme.map_or(0, str::len);
        let host_end =
            scheme.map_or(0, |_| text[after..].find(['/', '?']).map_or(text.len(), |at| after + at));
        let (origin, target) = text.split_at(host_end);
        if scheme.is_some() && (origin.len() == after || origin.contains(['$', '@', '\\'])) {
            return Err(format!(
                "redirect: \"{text}\" needs a fixed host with a slash behind it: https://HOST/PATH"
            ));
        }
        let template = Template::read("redirect", target, captures)?;
        Ok(Template { origin: origin.to_owned(), ..template })
    }

    /// Reads the target of a `rewrite`: a path of the same site, decoded.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_rewrite(text: &str, captures: usize) -> Result<Template, String> {
        Template::read("rewrite", text, captures)
    }

    fn read(key: &str, text: &str, captures: usize) -> Result<Template, String> {
        if !text.starts_with('/') || text.starts_with("//") || text.contains('\\') {
            return Err(format!("{key}: \"{text}\": write a path, which begins with one slash"));
        }
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text, None),
        };
        // As with nginx's rewrite: a question mark at the end drops the query of the request.
        let (query, keeps_query) = match query.map(|query| (query.strip_suffix('?'), query)) {
            Some((_, "")) => (None, false),
            Some((Some(before), _)) => (Some(before), false),
            Some((None, query)) => (Some(query), true),
            None => (None, true),
        };
        let pieces = |text| pieces(key, text, captures);
        Ok(Template {
            origin: String::new(),
            path: pieces(path)?,
            query: query.map(pieces).transpose()?,
            keeps_query,
        })
    }

    /// The path and the query of a rewritten request. The path is not encoded.
    pub fn rewritten(&self, groups: &[&[u8]], query: Option<&[u8]>) -> (Vec<u8>, Option<Vec<u8>>) {
        (expand(&self.path, groups, |bytes, to| to.extend_from_slice(bytes)), self.query(groups, query))
    }

    /// The Location of a redirect.
    pub fn location(&self, groups: &[&[u8]], query: Option<&[u8]>) -> Vec<u8> {
        let path = expand(&self.path, groups, encode);
        let mut location = self.origin.clone().into_bytes();
        // Two slashes at the begin would name another host.
        let slashes = path.iter().take_while(|byte| **byte == b'/').count();
        location.extend_from_slice(&path[slashes.saturating_sub(1)..]);
        if let Some(query) = self.query(groups, query) {
            location.push(b'?');
            location.extend_from_slice(&query);
        }
        location
    }

    fn query(&self, groups: &[&[u8]], sent: Option<&[u8]>) -> Option<Vec<u8>> {
        let sent = sent.filter(|sent| self.keeps_query && !sent.is_empty());
        let own = self.query.as_ref().map(|pieces| expand(pieces, groups, encode));
        match (own, sent) {
            (Some(own), Some(sent)) => Some([&own[..], b"&", sent].concat()),
            (Some(own), None) => Some(own),
            (None, sent) => sent.map(<[u8]>::to_vec),
        }
    }
}

/// Splits a text at its captures, `$1` to `$9`; `$0` is the whole path, `$$` a dollar sign.
fn pieces(key: &str, text: &str, captures: usize) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut literal) = (Vec::new(), Vec::new());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'$' {
            literal.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'$') => literal.push(b'$'),
            Some(digit @ b'0'..=b'9') => {
                let number = usize::from(digit - b'0');
                if number > captures {
                    return Err(format!(
                        "{key}: \"{text}\" names ${number}, but there are {captures} captures"
                    ));
                }
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
                pieces.push(Piece::Capture(number));
            }
            _ => {
                return Err(format!("{key}: \"{text}\": write $0 to $9 for a capture, $$ for a dollar sign"));
            }
        }
    }
    pieces.push(Piece::Text(literal));
    Ok(pieces)
}

/// A capture that begins with a slash follows one without a second.
fn expand(pieces: &[Piece], groups: &[&[u8]], put: impl Fn(&[u8], &mut Vec<u8>)) -> Vec<u8> {
    let mut text = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(literal) => text.extend_from_slice(literal),
            Piece::Capture(number) => {
                let group = groups.get(*number).copied().unwrap_or_default();
                let group = if text.last() == Some(&b'/') {
                    group.strip_prefix(b"/").unwrap_or(group)
                } else {
                    group
                };
                put(group, &mut text);
            }
        }
    }
    text
}

/// Percent-encodes everything that could end a part of a URL (RFC 3986 section 2.3), but not the slash and the colon.
fn encode(bytes: &[u8], to: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                to.push(*byte)
            }
            other => to.extend_from_slice(format!("%{other:02X}").as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Template};

    fn paths(path: &str) -> Condition {
        Condition::of_paths(vec![path.to_owned()], true).expect("sound")
    }

    #[test]
    fn a_path_is_itself_and_what_is_below() {
        for (rule, path, expected) in [
            ("/data", "/data", true),
            ("/data/", "/data", true),
            ("//./data/", "/DaTa/x", true),
            ("/data", "/database", false),
            ("/data", "/x/data", false),
            ("/", "/", true),
            ("/", "/anything", true),
            ("/a.php", "/a.php/more", true),
        ] {
            assert_eq!(paths(rule).fits(path.as_bytes()), expected, "{rule} for {path}");
        }
        assert!(!Condition::of_paths(vec!["/Data".into()], false).unwrap().fits(b"/data"));
        for wrong in ["data", "/a/../b", ""] {
            assert!(Condition::of_paths(vec![wrong.into()], false).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_expression_sees_every_byte() {
        let hidden = Condition::of_expression(r"^/up.*\.php$", true).unwrap();
        for path in [&b"/up/x.php"[..], b"/up\n/x.php", b"/up\xff/x.php", b"/UP/x.PHP"] {
            assert!(hidden.fits(path), "{}", path.escape_ascii());
        }
        assert!(!hidden.fits(b"/up/x.php\n"));
        assert!(Condition::of_expression("(", true).unwrap_err().contains("unclosed group"));
    }

    #[test]
    fn captures_go_where_they_cannot_mean_more() {
        let rule = Condition::of_expression("^/_media/(.*)$", false).unwrap();
        let groups = rule.groups(b"/_media/a b&c=%.png").unwrap();
        let to = Template::of_rewrite("/fetch.php?media=$1", 1).unwrap();
        let query = b"media=a%20b%26c%3D%25.png&w=2".to_vec();
        assert_eq!(to.rewritten(&groups, Some(b"w=2")), (b"/fetch.php".to_vec(), Some(query)));
        let to = Template::of_rewrite("/fetch.php?media=$1?", 1).unwrap();
        assert_eq!(to.rewritten(&[b"", b"x"], Some(b"w=2")).1, Some(b"media=x".to_vec()));

        let away = Condition::of_expression("^/out(.*)$", false).unwrap();
        let location = |to: &str, path: &str| {
            let template = Template::of_redirect(to, 1).unwrap();
            String::from_utf8(template.location(&away.groups(path.as_bytes()).unwrap(), None)).unwrap()
        };
        assert_eq!(location("/$1", "/out/evil.example"), "/evil.example");
        assert_eq!(location("/$1", "/out\r\nX: y\\"), "/%0D%0AX:%20y%5C");
        assert_eq!(location("https://a.example/$1", "/out/b"), "https://a.example/b");
        assert_eq!(Template::of_redirect("/new?", 0).unwrap().location(&[], Some(b"q")), b"/new");
    }

    #[test]
    fn templates_that_cannot_be_meant_are_refused() {
        for wrong in [
            "new",
            "//evil",
            "https://a$1/",
            "https://",
            "/a b",
            "/$2",
            "/$x",
            "/$",
            "https://u@h/",
            "/\\h",
            "ftp://h/",
        ] {
            assert!(Template::of_redirect(wrong, 1).is_err(), "{wrong}");
        }
        assert!(Template::of_rewrite("index.php", 0).is_err());
    }
}
