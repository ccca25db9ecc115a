//! Files as responses: validators, conditions, ranges, sendfile(2).
//!
//! Must not know which paths may be served: the caller decides. Invariant: the response announces what the opened
//! file had; its content never passes through this process's memory, unless it is small.
//!
//! sendfile(2) has no MSG_NOSIGNAL: the process MUST ignore SIGPIPE, as Rust's runtime makes it do at its start.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::{Errno, pread};
use weft_proto::{
    BodyLength, ByteRange, Conditions, Outcome, Ranges, SentBody, Validators, format_date, parse_date,
    parse_range, unsatisfied_range,
};

use crate::connection::Connection;
use crate::keys::RequestKey;
use crate::media_type::media_type;
use crate::opened::Opened;
use crate::root::open_path;
use crate::server::Server;
use crate::stream::outgoing::Segment;
use crate::stream::respond::{Error, Headers};
use crate::stream::{Stage, Stream};

/// Files up to this size are read and sent with their head in one call.
const COPIED_BYTES_MAX: u64 = 32 * 1024;

/// The parts of it that are sent.
pub(crate) enum Parts {
    Whole,
    One(ByteRange),
    Many { ranges: Vec<ByteRange>, boundary: String },
}

impl Server {
    /// Answers with a file, and returns the status of the answer. For GET and HEAD and a `status` of 200,
    /// preconditions (304, 412) and ranges (206, 416) apply. Content-Type (by the name's extension), ETag and
    /// Last-Modified are added unless they are among `headers`; a Content-Length there is ignored.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Forbidden`] and [`Error::File`] leave the request unanswered; otherwise as
    /// [`Server::respond`].
    pub fn respond_file(
        &self,
        key: RequestKey,
        status: u16,
        headers: &Headers<'_>,
        path: &Path,
    ) -> Result<u16, Error> {
        let beside = |extension: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(".");
            name.push(extension);
            open_path(Path::new(&name)).ok()
        };
        self.respond_negotiated(key, status, headers, open_path(path)?, (path, &beside))
    }

    /// The same with an open file; `name` determines its type.
    ///
    /// # Errors
    /// [`Error::File`] leaves the request unanswered; otherwise as [`Server::respond`].
    pub fn respond_opened(
        &self,
        key: RequestKey,
        status: u16,
        headers: &Headers<'_>,
        opened: Opened,
        name: &Path,
    ) -> Result<u16, Error> {
        let Opened { file, length, etag, modified } = opened;
        let mut table = self.table.borrow_mut();
        let (connection, stream) = self.answerable(&mut table, key)?;
        let mut fields: Vec<(&[u8], &[u8])> = headers
            .iter()
            .filter(|(name, _)| !name.eq_ignore_ascii_case(b"content-length"))
            .copied()
            .collect();
        let has = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name.as_bytes()));
        let modified = format_date(modified);
        if !has("etag") {
            fields.push((b"ETag", etag.as_bytes()));
        }
        if !has("last-modified") {
            fields.push((b"Last-Modified", &modified));
        }
        let plan = if status == 200 { self.plan(stream, &fields, length) } else { Plan::Send(Parts::Whole) };
        let content_type = content_type(name, headers);
        let status = match plan {
            Plan::Bare(status, extra) => {
                fields.extend(extra.as_ref().map(|range| (&b"Content-Range"[..], range.as_bytes())));
                self.encode_head(connection, stream, status, &fields, BodyLength::Known(0))?;
                status
            }
            Plan::Send(parts) => {
                fields.push((b"Accept-Ranges", b"bytes"));
                self.send_parts((connection, stream), status, fields, (file, length), parts, &content_type)?
            }
        };
        self.end_response(connection, stream);
        self.enqueue(stream.connection, connection);
        Ok(status)
    }

    /// The answer that the request's preconditions and ranges lead to.
    pub(crate) fn plan(&self, stream: &Stream, fields: &Headers<'_>, length: u64) -> Plan {
        let bytes = stream.bytes();
        let (head, method) = (&stream.head, stream.head.method(bytes));
        let get = |wanted: &str| {
            fields
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()))
                .map(|(_, value)| *value)
        };
        // The validators that are sent, which the caller may have chosen.
        let validators =
            Validators { etag: get("etag"), last_modified: get("last-modified").and_then(parse_date) };
        let conditions = Conditions::of(head, bytes);
        match conditions.evaluate(method, Some(&validators)) {
            Outcome::NotModified => return Plan::Bare(304, None),
            Outcome::PreconditionFailed => return Plan::Bare(412, None),
            Outcome::Proceed => (),
        }
        // RFC 9110 14.2: only GET supports ranges.
        let range = head.get(bytes, "range").filter(|_| method == b"GET");
        let Some(range) = range.filter(|_| conditions.range_applies(&validators, self.date().unix_secs()))
        else {
            return Plan::Send(Parts::Whole);
        };
        match parse_range(range, length, self.limits.ranges_max) {
            Ranges::Unsatisfiable => Plan::Bare(416, Some(unsatisfied_range(length))),
            Ranges::Satisfiable(ranges) => match ranges[..] {
                [one] => Plan::Send(Parts::One(one)),
                _ => Plan::Send(Parts::Many { ranges, boundary: boundary() }),
            },
            Ranges::Ignore => Plan::Send(Parts::Whole),
        }
    }

    fn send_parts(
        &self,
        (connection, stream): (&mut Connection, &mut Stream),
        status: u16,
        fields: Vec<(&[u8], &[u8])>,
        (file, whole): (OwnedFd, u64),
        parts: Parts,
        content_type: &[u8],
    ) -> Result<u16, Error> {
        let mut segments = Vec::new();
        let (mut kind, mut range) = (content_type.to_vec(), None);
        match &parts {
            Parts::Whole => segments.push(Segment::File { offset: 0, length: whole }),
            Parts::One(one) => {
                range = Some(one.content_range(whole));
                segments.push(Segment::File { offset: one.first, length: one.byte_count() });
            }
            Parts::Many { ranges, boundary } => {
                kind = format!("multipart/byteranges; boundary={boundary}").into_bytes();
                multipart(&mut segments, ranges, boundary, content_type, whole);
            }
        }
        let mut fields = fields;
        fields.retain(|(name, _)| !name.eq_ignore_ascii_case(b"content-type"));
        fields.push((b"Content-Type", &kind));
        fields.extend(range.as_ref().map(|range| (&b"Content-Range"[..], range.as_bytes())));
        let status = if matches!(parts, Parts::Whole) { status } else { 206 };
        let length = segments.iter().map(Segment::length).sum::<u64>();
        // A small file is read before its head is encoded: if that fails, the request is still unanswered.
        if let ([Segment::File { offset, length }], true) = (&segments[..], length <= COPIED_BYTES_MAX) {
            let content = read(&file, *offset, *length as usize)?;
            segments = vec![Segment::Bytes(content)];
        }
        self.encode_head(connection, stream, status, &fields, BodyLength::Known(length))?;
        if let Stage::Started(SentBody::Length(length)) = stream.stage {
            stream.written = length;
            if let [Segment::Bytes(content)] = &segments[..] {
                stream.out.bytes.extend_from_slice(content);
            } else {
                stream.out.segments.extend(segments.into_iter().filter(|segment| segment.length() > 0));
                stream.out.file = Some(file);
            }
        }
        Ok(status)
    }
}

/// How to answer a request for a file.
pub(crate) enum Plan {
    /// A status without content, and its Content-Range.
    Bare(u16, Option<String>),
    Send(Parts),
}

/// RFC 9110 14.6: each part with its own Content-Type and Content-Range.
fn multipart(
    segments: &mut Vec<Segment>,
    ranges: &[ByteRange],
    boundary: &str,
    content_type: &[u8],
    whole: u64,
) {
    for range in ranges {
        let mut head = format!("\r\n--{boundary}\r\nContent-Type: ").into_bytes();
        head.extend_from_slice(content_type);
        head.extend_from_slice(
            format!("\r\nContent-Range: {}\r\n\r\n", range.content_range(whole)).as_bytes(),
        );
        segments.push(Segment::Bytes(head));
        segments.push(Segment::File { offset: range.first, length: range.byte_count() });
    }
    segments.push(Segment::Bytes(format!("\r\n--{boundary}--\r\n").into_bytes()));
}

/// A boundary line that no file contains, except with a probability of 2^-128.
fn boundary() -> String {
    let mut random = [0; 16];
    // This fails only on kernels without the call; then the time of day must do.
    if rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).is_err() {
        random[..8].copy_from_slice(&weft_rt::clock::now().to_ne_bytes());
    }
    format!("{:032x}", u128::from_ne_bytes(random))
}

pub(crate) fn read(file: &OwnedFd, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
    let mut content = vec![0; length];
    let mut done = 0;
    while done < length {
        match pread(file, &mut content[done..], offset + done as u64) {
            Ok(0) => return Err(Error::File(std::io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => done += count,
            Err(Errno::INTR) => (),
            Err(errno) => return Err(Error::File(errno.into())),
        }
    }
    Ok(content)
}

/// The caller's Content-Type, or one by extension. Text counts as UTF-8.
pub(crate) fn content_type(path: &Path, headers: &Headers<'_>) -> Vec<u8> {
    if let Some((_, given)) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"content-type")) {
        return given.to_vec();
    }
    let kind = media_type(path);
    let charset = if kind.starts_with("text/") { "; charset=utf-8" } else { "" };
    format!("{kind}{charset}").into_bytes()
}
