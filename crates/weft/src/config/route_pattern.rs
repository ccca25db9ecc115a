//! `admin.routes`: paths whose requests are counted together.
//!
//! Must not know what is counted. Invariant: a pattern is its own name, and short enough for one.

/// The length of the longest pattern.
const BYTES_MAX: usize = 96;

/// A path with `*` for any one segment, and `**` at its end for all that may follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutePattern(String);

impl RoutePattern {
    /// Reads one as an operator writes it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: String) -> Result<RoutePattern, String> {
        let wrong = |why: &str| Err(format!("\"{text}\" {why}"));
        if !text.starts_with('/') {
            return wrong("does not begin with a slash");
        }
        if text.len() > BYTES_MAX {
            return wrong("is longer than 96 bytes");
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'?' | b'#')) {
            return wrong("has a character that no path has as it is sent");
        }
        let segments: Vec<&str> = text.split('/').collect();
        let (last, others) = segments.split_last().unwrap_or((&"", &[]));
        let is_whole = |segment: &&str| !segment.contains('*') || *segment == "*";
        if !others.iter().all(is_whole) || !is_whole(last) && *last != "**" {
            return wrong("has a * beside other characters: * is a segment, and ** is the last one");
        }
        Ok(RoutePattern(text))
    }

    /// As the operator wrote it.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether a path, as sent, is meant.
    pub fn fits(&self, path: &[u8]) -> bool {
        let mut path = path.split(|byte| *byte == b'/');
        for wanted in self.0.split('/') {
            // Also for what it follows alone.
            if wanted == "**" {
                return true;
            }
            match path.next() {
                Some(segment) if wanted == "*" && !segment.is_empty() || segment == wanted.as_bytes() => (),
                _ => return false,
            }
        }
        path.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_for_its_paths() {
        for (pattern, path, fits) in [
            ("/", "/", true),
            ("/", "/a", false),
            ("/a", "/a", true),
            ("/a", "/a/", false),
            ("/users/*", "/users/7", true),
            ("/users/*", "/users/", false),
            ("/users/*", "/users/7/edit", false),
            ("/users/*/edit", "/users/7/edit", true),
            ("/users/*/edit", "/users/7/show", false),
            ("/api/**", "/api/", true),
            ("/api/**", "/api", true),
            ("/api/**", "/api/v1/users", true),
            ("/**", "/", true),
        ] {
            assert_eq!(
                RoutePattern::parse(pattern.into()).unwrap().fits(path.as_bytes()),
                fits,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (text, why) in [
            ("users", "does not begin with a slash"),
            ("/a*", "has a * beside other characters"),
            ("/**/a", "has a * beside other characters"),
            ("/a b", "has a character"),
            ("/a?b", "has a character"),
        ] {
            let refused = RoutePattern::parse(text.into()).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(RoutePattern::parse(format!("/{}", "x".repeat(96))).unwrap_err().contains("longer than 96"));
    }
}
