//! A row of `[limits] shares`: how many requests of one path, header value or client run at once.
//!
//! Must not know who counts them. Invariant: a share has one spelling, so that two for the same are found.

use std::fmt;
use std::str::FromStr;

use super::suggest;

/// More of them are a mistake: each request is compared with all.
const SHARES_MAX: usize = 64;
/// As many as `coroutines_max` allows.
const RUNNING_MAX: usize = 1_000_000;

/// A bound on requests that run at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Which requests count together.
    pub by: ShareBy,
    /// How many of them run at once in a worker.
    pub running_max: usize,
}

/// Which requests count together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShareBy {
    /// All below this path: see [`plain_path`].
    Path(Vec<u8>),
    /// Those with the same value of this header field, by its name in small letters.
    Header(String),
    /// Those of one client address.
    Address,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            ShareBy::Path(path) if path.is_empty() => write!(f, "path / {}", self.running_max),
            ShareBy::Path(path) => write!(f, "path {} {}", String::from_utf8_lossy(path), self.running_max),
            ShareBy::Header(name) => write!(f, "header {name} {}", self.running_max),
            ShareBy::Address => write!(f, "address {}", self.running_max),
        }
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let by = words.first().copied().unwrap_or_default();
        let hint = match by {
            "path" => "path /report 4",
            "header" => "header X-Key 5",
            "address" => "address 10",
            _ => {
                let hint = suggest::hint(by, ["path", "header", "address"].into_iter());
                return Err(format!("\"{text}\": a share is by path, header or address{hint}"));
            }
        };
        let (by, number) = match words[..] {
            ["path", path, number] => (ShareBy::Path(path_of(text, path)?), number),
            ["header", name, number] => (ShareBy::Header(header_of(text, name)?), number),
            ["address", number] => (ShareBy::Address, number),
            _ => return Err(format!("\"{text}\": expected the form \"{hint}\"")),
        };
        let running_max = number.parse().ok().filter(|number| (1..=RUNNING_MAX).contains(number));
        let running_max = running_max.ok_or_else(|| {
            format!("\"{text}\": expected a whole number from 1 to {RUNNING_MAX} at its end, got {number}")
        })?;
        Ok(Share { by, running_max })
    }
}

fn path_of(text: &str, path: &str) -> Result<Vec<u8>, String> {
    if !path.starts_with('/') {
        return Err(format!("\"{text}\": a path begins with a slash: write /{path}"));
    }
    if let Some(at) = path.find(['?', '#']) {
        return Err(format!("\"{text}\": a path has no query and no fragment: write {}", &path[..at]));
    }
    Ok(plain_path(path.as_bytes()))
}

fn header_of(text: &str, name: &str) -> Result<String, String> {
    // RFC 9110 section 5.6.2: token.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !name.bytes().all(is_token) {
        return Err(format!("\"{text}\": {name} cannot be the name of a header field"));
    }
    Ok(name.to_ascii_lowercase())
}

/// The shares of a list. A variable is split at spaces: its words are put together again.
///
/// # Errors
/// What is wrong with the first one that is wrong.
pub fn shares(entries: &[String]) -> Result<Vec<Share>, String> {
    let is_split = entries.len() > 1 && entries.iter().all(|entry| !entry.contains(char::is_whitespace));
    let entries = if is_split { joined(entries) } else { entries.to_vec() };
    if entries.len() > SHARES_MAX {
        return Err(format!("{} shares: at most {SHARES_MAX} are possible", entries.len()));
    }
    let mut shares: Vec<Share> = Vec::new();
    for entry in &entries {
        let share: Share = entry.parse()?;
        if let Some(earlier) = shares.iter().find(|earlier| earlier.by == share.by) {
            return Err(format!("\"{earlier}\" and \"{share}\" are for the same requests: remove one"));
        }
        shares.push(share);
    }
    Ok(shares)
}

fn joined(words: &[String]) -> Vec<String> {
    let mut entries = Vec::new();
    let mut rest = words;
    while let Some(first) = rest.first() {
        let length = if first == "address" { 2 } else { 3 };
        let (entry, behind) = rest.split_at(length.min(rest.len()));
        entries.push(entry.join(" "));
        rest = behind;
    }
    entries
}

/// A path as one spelling: percent-decoded, without empty segments, `.`, `..` and a final slash; empty for `/`. Whatever
/// an application makes of a path, another spelling of it is not out of its share.
pub fn plain_path(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    for segment in decoded(path).split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => (),
            b".." => plain.truncate(plain.iter().rposition(|byte| *byte == b'/').unwrap_or(0)),
            name => {
                plain.push(b'/');
                plain.extend_from_slice(name);
            }
        }
    }
    plain
}

/// Percent-decoding (RFC 3986 section 2.1); what is malformed stays as it is.
fn decoded(path: &[u8]) -> Vec<u8> {
    let digit = |at: usize| path.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut decoded = Vec::with_capacity(path.len());
    let mut at = 0;
    while let Some(byte) = path.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high << 4 | low) as u8);
                at += 3;
            }
            _ => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    decoded
}

/// Whether `path` is `above` or lies below it, by whole segments; both are plain.
pub fn is_below(path: &[u8], above: &[u8]) -> bool {
    path.strip_prefix(above).is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

#[cfg(test)]
mod tests {
    use super::{Share, is_below, plain_path, shares};

    fn read(entries: &[&str]) -> Result<Vec<String>, String> {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        Ok(shares(&entries)?.iter().map(Share::to_string).collect())
    }

    #[test]
    fn shares_are_read_from_texts_and_from_words() {
        let written = ["path /report 4", "header x-key 5", "address 10", "path / 100"];
        assert_eq!(
            read(&["path /report/ 4", "header X-Key 5", "address  10", "path / 100"]).unwrap(),
            written
        );
        let words: Vec<&str> = written.iter().flat_map(|entry| entry.split(' ')).collect();
        assert_eq!(read(&words).unwrap(), written);
        assert_eq!(read(&[]).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn each_mistake_has_its_text() {
        let same = "\"path /a b 1\" and \"path /a b 2\" are for the same requests: remove one";
        let split = "\"path /a\": expected the form \"path /report 4\"";
        for (entries, expected) in [
            (&[""][..], "\"\": a share is by path, header or address"),
            (
                &["headers X-Key 5"],
                "\"headers X-Key 5\": a share is by path, header or address (did you mean header?)",
            ),
            (&["path 4"], "\"path 4\": expected the form \"path /report 4\""),
            (&["address 10.0.0.1 4"], "\"address 10.0.0.1 4\": expected the form \"address 10\""),
            (&["path report 4"], "\"path report 4\": a path begins with a slash: write /report"),
            (&["path /a?b=c 4"], "\"path /a?b=c 4\": a path has no query and no fragment: write /a"),
            (&["header X:Key 4"], "\"header X:Key 4\": X:Key cannot be the name of a header field"),
            (&["address 0"], "\"address 0\": expected a whole number from 1 to 1000000 at its end, got 0"),
            (
                &["path /a many"],
                "\"path /a many\": expected a whole number from 1 to 1000000 at its end, got many",
            ),
            (&["path /a%20b 1", "path //a%20b/ 2"], same),
            (&["path", "/a"], split),
        ] {
            assert_eq!(read(entries).unwrap_err(), expected);
        }
        let many: Vec<String> = (0..65).map(|number| format!("path /{number} 1")).collect();
        assert_eq!(shares(&many).unwrap_err(), "65 shares: at most 64 are possible");
    }

    #[test]
    fn a_path_has_one_spelling() {
        for (path, plain) in [
            ("/", ""),
            ("/report", "/report"),
            ("//%72eport/./", "/report"),
            ("/a/../report/x", "/report/x"),
            ("/../../report", "/report"),
            ("/100%", "/100%"),
            ("/%zz%2", "/%zz%2"),
            ("/a%2fb", "/a/b"),
        ] {
            assert_eq!(plain_path(path.as_bytes()), plain.as_bytes(), "{path}");
        }
    }

    #[test]
    fn a_path_lies_below_another_by_whole_segments() {
        for (path, above, expected) in [
            ("/report", "/report", true),
            ("/report/x", "/report", true),
            ("/reports", "/report", false),
            ("/", "/report", false),
            ("/anything", "/", true),
        ] {
            let (path_, above_) = (plain_path(path.as_bytes()), plain_path(above.as_bytes()));
            assert_eq!(is_below(&path_, &above_), expected, "{path} below {above}");
        }
    }
}
