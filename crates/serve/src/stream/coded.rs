//! Responses of a handler, compressed on their way out.
//!
//! A short one is compressed as a whole, and its length is known. A longer or streamed one passes through a coder, which
//! flushes after each piece that the handler writes, so the peer can read whatever was written. Must not know files, which
//! are compressed in their own way. Invariants: what cannot be text, is coded already, is a part, or must not be
//! transformed stays as it is; each answer that another client may get in another form says so in Vary.

use std::rc::Rc;

use weft_proto::Coding;

use crate::coder::Coder;
use crate::compress::{VARY, compress};
use crate::media_type::is_text;
use crate::server::Server;
use crate::stream::Stream;

/// Coders of one server at a time; each has about a megabyte. Further responses are sent as they are.
const CODERS_MAX: usize = 64;
/// Header fields as names and values.
type Fields<'h> = [(&'h [u8], &'h [u8])];

/// What becomes of a response.
pub(crate) enum Plan {
    /// It is sent as it is.
    Plain,
    /// It is sent as it is, and another client may get it compressed.
    Varies,
    /// It is compressed.
    With(Coding),
}

/// A head with the fields of a compressed response, or of one that may be.
pub(crate) struct CodedHead<'h> {
    fields: Vec<(&'h [u8], &'h [u8])>,
    etag: Option<Vec<u8>>,
}

impl<'h> CodedHead<'h> {
    pub(crate) fn new(headers: &Fields<'h>, coding: Option<Coding>) -> CodedHead<'h> {
        let mut head = CodedHead { fields: headers.to_vec(), etag: None };
        head.fields.push(VARY);
        let Some(coding) = coding else { return head };
        head.fields.retain(|(name, _)| !name.eq_ignore_ascii_case(b"content-length"));
        head.fields.push((b"Content-Encoding", coding.name().as_bytes()));
        // The bytes differ from those that the handler has named (RFC 9110 section 8.8.1).
        let strong = head
            .fields
            .iter()
            .position(|(name, value)| name.eq_ignore_ascii_case(b"etag") && value.starts_with(b"\""));
        if let Some(at) = strong {
            let (_, value) = head.fields.remove(at);
            head.etag = Some([b"W/", value].concat());
        }
        head
    }

    pub(crate) fn with<T>(&self, work: impl FnOnce(&Fields<'_>) -> T) -> T {
        match &self.etag {
            None => work(&self.fields),
            Some(etag) => {
                let mut fields = self.fields.clone();
                fields.push((b"ETag", etag));
                work(&fields)
            }
        }
    }
}

/// Whether a field says that nobody may change the content (RFC 9111 section 5.2.2.6).
pub(crate) fn is_not_transformed(name: &[u8], value: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"cache-control")
        && value.to_ascii_lowercase().windows(12).any(|part| part == b"no-transform")
}

impl Server {
    /// What becomes of a response with this head, and with a body of this length if it is known.
    pub(crate) fn coding_of(
        &self,
        stream: &Stream,
        status: u16,
        headers: &Fields<'_>,
        length: Option<usize>,
    ) -> Plan {
        let bytes_min = usize::try_from(self.limits.compress_bytes_min.max(1)).unwrap_or(usize::MAX);
        let has_body = status >= 200 && !matches!(status, 204 | 205 | 206 | 304);
        if !self.limits.compress_responses || !has_body || length.is_some_and(|length| length < bytes_min) {
            return Plan::Plain;
        }
        let mut is_of_text = false;
        for (name, value) in headers {
            if name.eq_ignore_ascii_case(b"content-type") {
                is_of_text = is_text(value);
            }
            let is_coded =
                name.eq_ignore_ascii_case(b"content-encoding") || name.eq_ignore_ascii_case(b"content-range");
            if is_coded || is_not_transformed(name, value) {
                return Plan::Plain;
            }
        }
        if !is_of_text {
            return Plan::Plain;
        }
        let accepted = Coding::accepted(stream.head.get(stream.bytes(), "accept-encoding"));
        accepted.first().map_or(Plan::Varies, |coding| Plan::With(*coding))
    }

    /// A whole body, compressed; `None` if it does not become smaller.
    pub(crate) fn coded_whole(&self, coding: Coding, body: &[u8]) -> Option<Vec<u8>> {
        compress(coding, body)
    }

    /// A coder for a streamed response; `None` if there are too many.
    pub(crate) fn coder(&self, coding: Coding) -> Option<Box<Coder>> {
        if Rc::strong_count(&self.compressing) > CODERS_MAX {
            return None;
        }
        Coder::new(coding, Rc::clone(&self.compressing)).ok().map(Box::new)
    }
}
