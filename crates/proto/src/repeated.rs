//! The lines of a response's head that the next response is likely to repeat: status line, fields, Date.
//!
//! Most applications send the same few fields with nearly every response. Comparing them with those of the previous
//! response costs less than checking and copying each of them. Must not know framing: lines that depend on the body are
//! never kept. Invariant: lines are reused only for the same status, fields and second, so every response has the bytes
//! it would have without this cache.

use crate::declared::Declared;

/// If there are more fields than this, or longer ones, they are encoded each time.
const FIELDS_MAX: usize = 4;
const BYTES_MAX: usize = 256;

/// The lines encoded last. Each server has one.
#[derive(Debug, Default)]
pub struct Repeated {
    status: u16,
    own_lines: &'static [u8],
    unix_secs: u64,
    lengths: [(usize, usize); FIELDS_MAX],
    count: usize,
    /// Names and values, one after another.
    fields: Vec<u8>,
    declared: Declared,
    lines: Vec<u8>,
}

/// The input from which lines are encoded.
#[derive(Clone, Copy)]
pub(crate) struct Source<'f> {
    pub(crate) status: u16,
    pub(crate) own_lines: &'static [u8],
    pub(crate) unix_secs: u64,
    pub(crate) fields: &'f [(&'f [u8], &'f [u8])],
}

impl Repeated {
    /// The lines for `source`, if they are the ones encoded last.
    pub(crate) fn find(&self, source: Source<'_>) -> Option<(&[u8], Declared)> {
        let same = !self.lines.is_empty()
            && self.status == source.status
            && self.unix_secs == source.unix_secs
            && std::ptr::eq(self.own_lines, source.own_lines)
            && self.count == source.fields.len()
            && self.has_fields(source.fields);
        same.then_some((&self.lines, self.declared))
    }

    fn has_fields(&self, fields: &[(&[u8], &[u8])]) -> bool {
        let mut rest = &self.fields[..];
        for (&(name, value), &lengths) in fields.iter().zip(&self.lengths) {
            if (name.len(), value.len()) != lengths {
                return false;
            }
            let (own_name, behind) = rest.split_at(name.len());
            let (own_value, behind) = behind.split_at(value.len());
            if own_value != value || own_name != name {
                return false;
            }
            rest = behind;
        }
        true
    }

    /// Keeps `lines`, the encoding of `source`.
    pub(crate) fn keep(&mut self, source: Source<'_>, declared: Declared, lines: &[u8]) {
        let bytes: usize = source.fields.iter().map(|(name, value)| name.len() + value.len()).sum();
        if source.fields.len() > FIELDS_MAX || bytes > BYTES_MAX {
            return;
        }
        (self.status, self.own_lines) = (source.status, source.own_lines);
        (self.unix_secs, self.count, self.declared) = (source.unix_secs, source.fields.len(), declared);
        self.fields.clear();
        for (&(name, value), lengths) in source.fields.iter().zip(&mut self.lengths) {
            self.fields.extend_from_slice(name);
            self.fields.extend_from_slice(value);
            *lengths = (name.len(), value.len());
        }
        self.lines.clear();
        self.lines.extend_from_slice(lines);
    }
}
