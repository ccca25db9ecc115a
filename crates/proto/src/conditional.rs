//! Conditional requests (RFC 9110 section 13): whether a set of preconditions leads to normal processing, 304 or
//! 412.
//!
//! Must not know more of a resource than its validators, nor the time. Invariant: evaluation follows the order of
//! section 13.2.2, so a lost update (412) is found before a cache hit (304).

use crate::date::parse_date;
use crate::etag::{EntityTag, entity_tags};
use crate::head::Head;

/// The precondition fields of a request, as sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions<'a> {
    /// Every If-Match value.
    pub if_match: Vec<&'a [u8]>,
    /// Every If-None-Match value.
    pub if_none_match: Vec<&'a [u8]>,
    /// If-Modified-Since; `None` also if it is repeated.
    pub if_modified_since: Option<&'a [u8]>,
    /// If-Unmodified-Since; `None` also if it is repeated.
    pub if_unmodified_since: Option<&'a [u8]>,
    /// If-Range; `None` also if it is repeated.
    pub if_range: Option<&'a [u8]>,
}

/// What the server knows about the current representation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Validators<'a> {
    /// Its ETag field's value, quotes included.
    pub etag: Option<&'a [u8]>,
    /// Time of the last change, in seconds since 1970.
    pub last_modified: Option<u64>,
}

/// What to do with a conditional request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Perform the method.
    Proceed,
    /// 304: the client's copy is still valid.
    NotModified,
    /// 412: the resource is not in the state the client expects.
    PreconditionFailed,
}

impl<'a> Conditions<'a> {
    /// The preconditions of a parsed head. Allocates only if there is an If-Match or If-None-Match field.
    pub fn of(head: &Head, buf: &'a [u8]) -> Conditions<'a> {
        let mut conditions = Conditions::default();
        let (mut modified, mut unmodified, mut range) = (0, 0, 0);
        for (name, value) in head.headers(buf) {
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
            // Length first: most fields are none of the five.
            match name.len() {
                8 if is("if-match") => conditions.if_match.push(value),
                8 if is("if-range") => single(&mut conditions.if_range, &mut range, value),
                13 if is("if-none-match") => conditions.if_none_match.push(value),
                17 if is("if-modified-since") => {
                    single(&mut conditions.if_modified_since, &mut modified, value)
                }
                19 if is("if-unmodified-since") => {
                    single(&mut conditions.if_unmodified_since, &mut unmodified, value)
                }
                _ => {}
            }
        }
        conditions
    }

    /// Evaluates for `method` against the current representation, `None` if there is none (RFC 9110 13.2.2).
    /// Call it only if the response without preconditions would be 2xx or 412 (13.2.1).
    pub fn evaluate(&self, method: &[u8], current: Option<&Validators<'_>>) -> Outcome {
        let read_only = method == b"GET" || method == b"HEAD";
        let last_modified = current.and_then(|now| now.last_modified);
        if !self.if_match.is_empty() {
            if !any_match(&self.if_match, current, |asked, tag| asked.strong_eq(tag)) {
                return Outcome::PreconditionFailed;
            }
        } else if let (Some(since), Some(changed)) = (date(self.if_unmodified_since), last_modified)
            && changed > since
        {
            return Outcome::PreconditionFailed;
        }
        if !self.if_none_match.is_empty() {
            return match any_match(&self.if_none_match, current, |asked, tag| asked.weak_eq(tag)) {
                false => Outcome::Proceed,
                true if read_only => Outcome::NotModified,
                true => Outcome::PreconditionFailed,
            };
        }
        match (date(self.if_modified_since), last_modified) {
            (Some(since), Some(changed)) if read_only && changed <= since => Outcome::NotModified,
            _ => Outcome::Proceed,
        }
    }

    /// Whether If-Range lets a Range field apply (RFC 9110 13.1.5). A date counts only if it is a strong validator
    /// (8.8.2.2): the representation did not change within the second of `now_secs`.
    pub fn range_applies(&self, current: &Validators<'_>, now_secs: u64) -> bool {
        let Some(value) = self.if_range else {
            return true;
        };
        if let Some(asked) = EntityTag::parse(value) {
            return current.etag.and_then(EntityTag::parse).is_some_and(|tag| tag.strong_eq(asked));
        }
        let changed = current.last_modified;
        changed.is_some_and(|changed| parse_date(value) == Some(changed) && changed < now_secs)
    }
}

/// A field that may appear once: a second one removes the first.
fn single<'a>(slot: &mut Option<&'a [u8]>, seen: &mut u32, value: &'a [u8]) {
    *seen += 1;
    *slot = (*seen == 1).then_some(value);
}

/// A date that can be read; other dates are ignored (RFC 9110 13.1.3 and 13.1.4).
fn date(value: Option<&[u8]>) -> Option<u64> {
    value.and_then(parse_date)
}

fn any_match(
    values: &[&[u8]],
    current: Option<&Validators<'_>>,
    equal: fn(EntityTag<'_>, EntityTag<'_>) -> bool,
) -> bool {
    let Some(current) = current else {
        return false;
    };
    let tag = current.etag.and_then(EntityTag::parse);
    values.iter().any(|value| {
        *value == b"*" || tag.is_some_and(|tag| entity_tags(value).any(|asked| equal(asked, tag)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_limits::RequestLimits;

    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const EXACT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
    const CURRENT: Validators<'_> = Validators { etag: Some(b"\"v1\""), last_modified: Some(784_111_777) };

    fn with_conditions<T>(fields: &[(&str, &str)], check: impl FnOnce(&Conditions<'_>) -> T) -> T {
        let mut text = String::from("GET / HTTP/1.1\r\nHost: a\r\n");
        for (name, value) in fields {
            text += &format!("{name}: {value}\r\n");
        }
        text += "\r\n";
        let mut head = Head::new();
        head.parse(text.as_bytes(), &RequestLimits::default()).unwrap();
        check(&Conditions::of(&head, text.as_bytes()))
    }

    #[test]
    fn outcomes() {
        use Outcome::{NotModified, PreconditionFailed, Proceed};
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, Outcome);
        let cases: [Case; 24] = [
            (&[], "GET", Proceed),
            (&[("If-Match", "\"v1\"")], "PUT", Proceed),
            (&[("If-Match", "\"v0\", \"v1\"")], "PUT", Proceed),
            (&[("If-Match", "\"v0\""), ("If-Match", "\"v1\"")], "PUT", Proceed),
            (&[("If-Match", "*")], "PUT", Proceed),
            (&[("If-Match", "\"v0\"")], "PUT", PreconditionFailed),
            (&[("If-Match", "W/\"v1\"")], "PUT", PreconditionFailed),
            (&[("If-Match", "v1")], "PUT", PreconditionFailed),
            (&[("if-match", "\"v0\""), ("If-None-Match", "\"v1\"")], "GET", PreconditionFailed),
            (&[("If-Unmodified-Since", EXACT)], "PUT", Proceed),
            (&[("If-Unmodified-Since", BEFORE)], "PUT", PreconditionFailed),
            (&[("If-Unmodified-Since", "yesterday")], "PUT", Proceed),
            (&[("If-Match", "\"v1\""), ("If-Unmodified-Since", BEFORE)], "PUT", Proceed),
            (&[("If-None-Match", "\"v1\"")], "GET", NotModified),
            (&[("If-None-Match", "W/\"v1\"")], "HEAD", NotModified),
            (&[("If-None-Match", "*")], "PUT", PreconditionFailed),
            (&[("If-None-Match", "\"v0\"")], "GET", Proceed),
            (&[("If-None-Match", "\"v0\""), ("If-Modified-Since", AFTER)], "GET", Proceed),
            (&[("If-Modified-Since", EXACT)], "GET", NotModified),
            (&[("If-Modified-Since", AFTER)], "GET", NotModified),
            (&[("If-Modified-Since", BEFORE)], "GET", Proceed),
            (&[("If-Modified-Since", AFTER)], "POST", Proceed),
            (&[("If-Modified-Since", AFTER), ("If-Modified-Since", AFTER)], "GET", Proceed),
            (&[("If-Modified-Since", "")], "GET", Proceed),
        ];
        for (fields, method, outcome) in cases {
            let found = with_conditions(fields, |c| c.evaluate(method.as_bytes(), Some(&CURRENT)));
            assert_eq!(found, outcome, "{method} {fields:?}");
        }
    }

    #[test]
    fn without_a_representation() {
        let absent = |fields: &[(&str, &str)]| with_conditions(fields, |c| c.evaluate(b"PUT", None));
        assert_eq!(absent(&[("If-None-Match", "*")]), Outcome::Proceed);
        assert_eq!(absent(&[("If-Match", "*")]), Outcome::PreconditionFailed);
        assert_eq!(absent(&[("If-Unmodified-Since", BEFORE)]), Outcome::Proceed);
    }

    #[test]
    fn if_range() {
        let now = 784_111_777 + 60;
        let applies =
            |value: &str| with_conditions(&[("If-Range", value)], |c| c.range_applies(&CURRENT, now));
        assert!(with_conditions(&[], |c| c.range_applies(&CURRENT, now)));
        assert!(applies("\"v1\"") && applies(EXACT));
        for stale in ["\"v0\"", "W/\"v1\"", BEFORE, AFTER, "", "v1"] {
            assert!(!applies(stale), "{stale}");
        }
        let same_second = |c: &Conditions<'_>| c.range_applies(&CURRENT, 784_111_777);
        assert!(!with_conditions(&[("If-Range", EXACT)], same_second));
    }
}
