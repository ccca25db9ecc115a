//! A request's head: from the first byte to the empty line (RFC 9112 sections 2 to 6).
//!
//! A `Head` owns no bytes, only offsets into the caller's buffer. It is reused from request to request, so a connection
//! allocates its field table once. Must not know where bytes come from, and must not act on what it finds.
//!
//! A head that has arrived as a whole is tokenized by httparse at once. Any other head, and any faulty one, takes three
//! steps. `scan` finds the end of the head and refuses faulty lines; it remembers how far it searched, so a head that
//! arrives byte by byte costs no more than a whole one. httparse tokenizes it. `fields` and `target` refuse what RFC
//! 9112 forbids and httparse accepts. Invariant: the fast path accepts nothing that the slow path refuses.

mod diagnose;
mod fields;
mod framing;
mod scan;
mod target;

use std::borrow::Cow;
use std::mem::MaybeUninit;

use crate::bytes::is_tchar;
use crate::reject::Reject;
use crate::request_limits::RequestLimits;
use crate::span::Span;
use fields::{KnownHost, Meaning};
pub use framing::{Framing, Version};
use scan::Scan;
use target::Target;
pub use target::TargetForm;

/// What [`Head::parse`] found so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parse {
    /// The head is complete and takes this many bytes from the start of the buffer; the body follows.
    Complete {
        /// Bytes, leading empty lines included.
        head_bytes: usize,
    },
    /// More bytes are needed: call again with the same bytes and those that followed.
    Partial,
}

/// A parsed request head. Accessors are meaningful after [`Parse::Complete`], with the same bytes passed again.
#[derive(Debug, Clone, Default)]
pub struct Head {
    scan: Scan,
    method: Span,
    raw_target: Span,
    version: Version,
    fields: Vec<(Span, Span)>,
    target: Target,
    meaning: Meaning,
    known_host: KnownHost,
}

impl Head {
    /// An empty head. Its field table grows with the first requests and is then kept.
    pub fn new() -> Head {
        Head::default()
    }

    /// Parses the head at the start of `buf`. Call it again with more bytes while it returns [`Parse::Partial`];
    /// the earlier bytes must still be there, and only new ones are searched. After `Complete` or an error the
    /// next call starts a new message.
    ///
    /// # Errors
    /// The first rule that the head breaks. Answer with its status and close the connection.
    pub fn parse(&mut self, buf: &[u8], limits: &RequestLimits) -> Result<Parse, Reject> {
        let end = match self.tokenize_whole(buf, limits) {
            Some(end) => end,
            None => match self.find_and_tokenize(buf, limits)? {
                Some(end) => end,
                None => return Ok(Parse::Partial),
            },
        };
        let method = self.method.slice(buf);
        if method.len() > RequestLimits::METHOD_BYTES_MAX {
            return Err(Reject::METHOD_TOO_LONG);
        }
        if method == b"CONNECT" {
            return Err(Reject::CONNECT);
        }
        if self.raw_target.len as usize > limits.target_bytes_max {
            return Err(Reject::TARGET_TOO_LONG);
        }
        self.target = Target::parse(self.raw_target.slice(buf), self.raw_target.at, method)?;
        self.meaning = Meaning::default();
        for (index, (name, value)) in self.fields.iter().enumerate() {
            self.meaning.field(index, name.slice(buf), value.slice(buf), &mut self.known_host)?;
        }
        self.meaning.finish(self.version, limits)?;
        Ok(Parse::Complete { head_bytes: end })
    }

    /// Forgets a partially parsed message; the field table keeps its capacity.
    pub fn clear(&mut self) {
        let (mut fields, known_host) =
            (std::mem::take(&mut self.fields), std::mem::take(&mut self.known_host));
        fields.clear();
        *self = Head { fields, known_host, ..Head::default() };
    }

    /// The fast path: the length of a head that lies in `buf` as a whole and keeps every rule of `scan`.
    fn tokenize_whole(&mut self, buf: &[u8], limits: &RequestLimits) -> Option<usize> {
        if self.scan.has_begun() || !buf.first().is_some_and(|&first| is_tchar(first)) {
            return None;
        }
        let window = &buf[..buf.len().min(limits.head_max())];
        let mut table = [const { MaybeUninit::uninit() }; RequestLimits::HEADER_COUNT_CAP];
        let mut request = httparse::Request::new(&mut []);
        let Ok(httparse::Status::Complete(end)) = request.parse_with_uninit_headers(window, &mut table)
        else {
            return None;
        };
        self.take(&request, buf);
        // httparse accepts a bare LF as the end of a line.
        let ends = |at: usize| at >= 2 && window[at - 2..at] == *b"\r\n";
        let well_ended = self.fields.iter().all(|(name, _)| ends(name.at as usize));
        let fits = self.fields.len() <= limits.header_max()
            && self.method.len as usize <= RequestLimits::METHOD_BYTES_MAX
            && self.raw_target.len as usize <= limits.target_bytes_max;
        (well_ended && fits && ends(end) && ends(end - 2)).then_some(end)
    }

    /// The slow path: finds the end of the head, or the rule that it breaks.
    fn find_and_tokenize(&mut self, buf: &[u8], limits: &RequestLimits) -> Result<Option<usize>, Reject> {
        let found = self.scan.find_end(buf, limits);
        if let Ok(None) = found {
            return Ok(None);
        }
        let start = std::mem::take(&mut self.scan).start();
        let Some(end) = found? else { return Ok(None) };
        let head = &buf[start..end];
        let mut table = [const { MaybeUninit::uninit() }; RequestLimits::HEADER_COUNT_CAP];
        let mut request = httparse::Request::new(&mut []);
        match request.parse_with_uninit_headers(head, &mut table) {
            Ok(httparse::Status::Complete(bytes)) if bytes == head.len() => self.take(&request, buf),
            Ok(_) => return Err(Reject::REQUEST_LINE),
            Err(error) => return Err(diagnose::reject(head, error)),
        }
        Ok(Some(end))
    }

    /// Turns httparse's slices into offsets.
    fn take(&mut self, request: &httparse::Request<'_, '_>, buf: &[u8]) {
        let base = buf.as_ptr().addr();
        self.method = Span::of(request.method.unwrap_or_default().as_bytes(), base);
        self.raw_target = Span::of(request.path.unwrap_or_default().as_bytes(), base);
        self.version = if request.version == Some(0) { Version::Http10 } else { Version::Http11 };
        self.fields.clear();
        self.fields.extend(
            request.headers.iter().map(|h| (Span::of(h.name.as_bytes(), base), Span::of(h.value, base))),
        );
    }

    /// The method, case-sensitive, as sent.
    pub fn method<'a>(&self, buf: &'a [u8]) -> &'a [u8] {
        self.method.slice(buf)
    }

    /// The request target, as sent.
    pub fn target<'a>(&self, buf: &'a [u8]) -> &'a [u8] {
        self.raw_target.slice(buf)
    }

    /// The request's version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The parsed head stands for one that another protocol has carried: this is its version, and how the body is
    /// delimited if it has no Content-Length.
    pub fn arrived_by(&mut self, version: Version, body: Framing) {
        self.version = version;
        self.meaning.delimit(body);
    }

    /// Which of RFC 9112 3.2's forms the target has.
    pub fn form(&self) -> TargetForm {
        self.target.form
    }

    /// The target's path, not percent-decoded: it starts with `/`, or is `*`.
    pub fn path<'a>(&self, buf: &'a [u8]) -> &'a [u8] {
        match self.target.path.slice(buf) {
            [] => b"/",
            path => path,
        }
    }

    /// Where the path of the target stands in these bytes, and its length, which is 0 where [`Head::path`] says `/` of a target
    /// that has none.
    #[inline]
    pub fn path_place(&self) -> (usize, usize) {
        (self.target.path.at as usize, self.target.path.len as usize)
    }

    /// Path and query of the target, as an origin-form request would send them (RFC 9112 3.2.1); or `*`.
    pub fn origin<'a>(&self, buf: &'a [u8]) -> Cow<'a, [u8]> {
        let target = self.raw_target.slice(buf);
        if self.target.form != TargetForm::Absolute {
            return Cow::Borrowed(target);
        }
        let behind =
            self.target.authority.map_or(0, |authority| authority.at + authority.len - self.raw_target.at);
        match target.get(behind as usize..).unwrap_or_default() {
            origin @ [b'/', ..] => Cow::Borrowed(origin),
            query => Cow::Owned([b"/", query].concat()),
        }
    }

    /// What follows the target's first `?`, if there is one.
    pub fn query<'a>(&self, buf: &'a [u8]) -> Option<&'a [u8]> {
        self.target.query.map(|query| query.slice(buf))
    }

    /// Host and port as sent: those of an absolute-form target (RFC 9112 3.2.2: it overrides Host), else those of
    /// the Host field, which may be empty. `None` only in HTTP/1.0. [`split_authority`](crate::split_authority)
    /// splits it.
    pub fn authority<'a>(&self, buf: &'a [u8]) -> Option<&'a [u8]> {
        match self.target.authority {
            Some(authority) => Some(authority.slice(buf)),
            None => self.meaning.host().map(|index| self.header(buf, index).1),
        }
    }

    /// Number of header fields.
    pub fn header_count(&self) -> usize {
        self.fields.len()
    }

    /// The field at `index` as name (case as sent) and value (without surrounding whitespace). Beyond
    /// [`header_count`](Head::header_count) both are empty.
    pub fn header<'a>(&self, buf: &'a [u8], index: usize) -> (&'a [u8], &'a [u8]) {
        let (name, value) = self.fields.get(index).copied().unwrap_or_default();
        (name.slice(buf), value.slice(buf))
    }

    /// All fields in order.
    pub fn headers<'a>(&self, buf: &'a [u8]) -> impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> {
        self.fields.iter().map(|(name, value)| (name.slice(buf), value.slice(buf)))
    }

    /// The first value of the field called `name`, case-insensitively.
    pub fn get<'a>(&self, buf: &'a [u8], name: &str) -> Option<&'a [u8]> {
        self.get_all(buf, name).next()
    }

    /// Every value of the fields called `name`, case-insensitively, in order.
    pub fn get_all<'a>(&self, buf: &'a [u8], name: &str) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(move |(field, _)| field.len as usize == name.len())
            .filter(move |(field, _)| field.slice(buf).eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value.slice(buf))
    }

    /// How the body is delimited.
    pub fn framing(&self) -> Framing {
        self.meaning.framing()
    }

    /// Whether the peer wants the connection to persist (RFC 9112 9.3): HTTP/1.1 without `close`, HTTP/1.0 with
    /// `keep-alive`.
    pub fn keep_alive(&self) -> bool {
        self.meaning.keep_alive(self.version)
    }

    /// Whether the peer waits for a 100 before it sends the body (RFC 9110 10.1.1): with a body only, and not in HTTP/1.0.
    pub fn expect_continue(&self) -> bool {
        self.version != Version::Http10
            && self.meaning.expects_continue()
            && !matches!(self.framing(), Framing::None | Framing::Length(0))
    }

    /// Whether there is a field `traceparent`: most heads have none, and this costs less than to look for it.
    #[inline]
    pub fn is_traced(&self) -> bool {
        self.meaning.is_traced()
    }

    /// The protocols of the Upgrade field, if Connection names it (RFC 9110 7.8), and not in HTTP/1.0. In HTTP/2 only a head
    /// has both that stands for an extended CONNECT (RFC 8441).
    pub fn upgrade<'a>(&self, buf: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let asked = self.version != Version::Http10 && self.meaning.upgrades();
        let values = if asked { Some(self.get_all(buf, "upgrade")) } else { None };
        values.into_iter().flatten().flat_map(crate::bytes::list).filter(|protocol| !protocol.is_empty())
    }
}
