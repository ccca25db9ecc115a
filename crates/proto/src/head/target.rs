//! The request target's forms (RFC 9112 section 3.2).
//!
//! Decodes nothing: the code that maps paths handles percent-encoding and dot segments. Invariant: path, query and
//! authority are disjoint parts of the target, and none holds a control character, a space or `#`.
//!
//! Bytes that RFC 3986 wants percent-encoded but that every browser and server accepts (`|`, `{`, `"`, UTF-8) are
//! accepted here, too.

use memchr::{memchr, memchr2};

use crate::authority::split_authority;
use crate::reject::Reject;
use crate::span::Span;

/// The forms of a request target. The authority-form is missing: only CONNECT uses it, and CONNECT is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetForm {
    /// `/path?query`
    #[default]
    Origin,
    /// `http://host/path?query` or `https://`
    Absolute,
    /// `*`, for OPTIONS
    Asterisk,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Target {
    pub(super) form: TargetForm,
    /// Empty if an absolute-form target has no path.
    pub(super) path: Span,
    pub(super) query: Option<Span>,
    pub(super) authority: Option<Span>,
}

impl Target {
    /// Splits `target`, which starts at offset `at` of the caller's buffer and has passed httparse's character
    /// check.
    pub(super) fn parse(target: &[u8], at: u32, method: &[u8]) -> Result<Target, Reject> {
        let question = match memchr2(b'?', b'#', target) {
            Some(found) if target[found] == b'#' => return Err(Reject::TARGET_FRAGMENT),
            Some(found) if memchr(b'#', &target[found..]).is_some() => return Err(Reject::TARGET_FRAGMENT),
            found => found,
        };
        let span = |from: usize, to: usize| Span { at: at + from as u32, len: (to - from) as u32 };
        let path_end = question.unwrap_or(target.len());
        let query = question.map(|found| span(found + 1, target.len()));
        match target {
            [b'/', ..] => {
                Ok(Target { form: TargetForm::Origin, path: span(0, path_end), query, authority: None })
            }
            b"*" if method == b"OPTIONS" => {
                Ok(Target { form: TargetForm::Asterisk, path: span(0, 1), query: None, authority: None })
            }
            b"*" => Err(Reject::TARGET_ASTERISK),
            _ => {
                let scheme = scheme_bytes(target).ok_or(Reject::TARGET_FORM)?;
                let rest = &target[scheme..path_end];
                let authority_end = scheme + memchr(b'/', rest).unwrap_or(rest.len());
                match split_authority(&target[scheme..authority_end]) {
                    Some(authority) if !authority.host.is_empty() => {}
                    _ => return Err(Reject::TARGET_AUTHORITY),
                }
                let authority = Some(span(scheme, authority_end));
                Ok(Target {
                    form: TargetForm::Absolute,
                    path: span(authority_end, path_end),
                    query,
                    authority,
                })
            }
        }
    }
}

/// Length of `http://` or `https://` at the start, case-insensitively.
fn scheme_bytes(target: &[u8]) -> Option<usize> {
    [&b"http://"[..], b"https://"]
        .iter()
        .find(|scheme| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
        .map(|scheme| scheme.len())
}
