//! Files in the coding that a client prefers: unchanged, from a compressed file beside them, or compressed now.
//!
//! Must not know which files may be served: the caller decides. Invariant: each answer for a file says in Vary that it
//! depends on Accept-Encoding if, and only if, another client may get another one. Text is sent without a charset, as
//! nginx does: files say themselves in which one they are written.

use std::path::Path;
use std::rc::Rc;

use weft_proto::{BodyLength, Coding, SentBody, format_date};

use crate::compress::{VARY, compress};
use crate::file::{Plan, content_type, read};
use crate::keys::RequestKey;
use crate::media_type::{is_text, media_type};
use crate::opened::Opened;
use crate::root::Root;
use crate::server::Server;
use crate::stream::Stage;
use crate::stream::coded::is_not_transformed;
use crate::stream::respond::{Error, Headers};

impl Server {
    /// Answers with the file of this name below `root`, as [`Server::respond_negotiated`] does.
    ///
    /// # Errors
    /// As [`Server::respond_file`].
    pub fn respond_site_file(&self, key: RequestKey, root: &Root, name: &[u8]) -> Result<u16, Error> {
        let path = root.below(name);
        let kind: [(&[u8], &[u8]); 1] = [(b"Content-Type", media_type(&path).as_bytes())];
        let beside = |extension: &str| root.beside(name, extension);
        self.respond_negotiated(key, 200, &kind, root.file(name)?, (&path, &beside))
    }

    /// Answers with a file, as [`Server::respond_file`] does. Text is sent in the coding that the client prefers: from a
    /// neighbour with the coding's extension (`.br`, `.zst`, `.gz`), which `beside` opens, that is not older than the file;
    /// otherwise it is compressed here, if [`crate::ServerLimits`] allows.
    ///
    /// # Errors
    /// [`Error::File`] leaves the request unanswered; otherwise as [`Server::respond`].
    pub fn respond_negotiated(
        &self,
        key: RequestKey,
        status: u16,
        headers: &Headers<'_>,
        opened: Opened,
        (path, beside): (&Path, &Beside<'_>),
    ) -> Result<u16, Error> {
        let kind = content_type(path, headers);
        if status != 200 || !is_text(&kind) || is_final(headers) {
            return self.respond_opened(key, status, headers, opened, path);
        }
        let accepted = self
            .with_request(key, |request| Coding::accepted(request.header("accept-encoding")))
            .unwrap_or_default();
        if let Some((coding, neighbour)) = neighbour(beside, &opened, &accepted) {
            let etag = coded_tag(headers, coding);
            let headers = coded_fields(headers, &kind, coding, etag.as_deref());
            return self.respond_opened(key, 200, &headers, neighbour, path);
        }
        let compressible = self.is_compressible(opened.length);
        match accepted.first() {
            Some(coding) if compressible => {
                self.respond_compressed(key, (path, &kind), headers, opened, *coding)
            }
            _ => {
                let varies = compressible || neighbour(beside, &opened, &Coding::ALL).is_some();
                let mut headers = headers.to_vec();
                headers.extend(varies.then_some(VARY));
                self.respond_opened(key, 200, &headers, opened, path)
            }
        }
    }

    /// Whether text of this length is compressed here.
    fn is_compressible(&self, length: u64) -> bool {
        let (min, max) = (self.limits.compress_bytes_min, self.limits.compress_bytes_max);
        min > 0 && (min..=max).contains(&length)
    }

    fn respond_compressed(
        &self,
        key: RequestKey,
        (path, kind): (&Path, &[u8]),
        headers: &Headers<'_>,
        opened: Opened,
        coding: Coding,
    ) -> Result<u16, Error> {
        let found = self.compressed.borrow_mut().find(path, coding, &opened.etag);
        let coded = match found {
            Some(coded) => coded,
            None => {
                let text = read(&opened.file, 0, opened.length as usize)?;
                let coded: Option<Rc<[u8]>> = compress(coding, &text).map(Into::into);
                let bytes_max = self.limits.compressed_bytes_max;
                self.compressed.borrow_mut().keep(path, coding, &opened.etag, coded.clone(), bytes_max);
                coded
            }
        };
        let Some(coded) = coded else {
            let headers = [headers, &[VARY]].concat();
            return self.respond_opened(key, 200, &headers, opened, path);
        };
        let etag = coded_tag(headers, coding).unwrap_or_else(|| tagged(opened.etag.as_bytes(), coding));
        let modified = format_date(opened.modified);
        let mut fields = coded_fields(headers, kind, coding, Some(&etag));
        if !has(headers, "last-modified") {
            fields.push((b"Last-Modified", &modified));
        }
        self.respond_coded(key, &fields, &coded)
    }

    /// Conditions apply. Ranges are not offered, because the compressed bytes may differ the next time.
    fn respond_coded(&self, key: RequestKey, fields: &[(&[u8], &[u8])], coded: &[u8]) -> Result<u16, Error> {
        let mut table = self.table.borrow_mut();
        let (connection, stream) = self.answerable(&mut table, key)?;
        let status = match self.plan(stream, fields, coded.len() as u64) {
            Plan::Bare(status @ (304 | 412), _) => {
                self.encode_head(connection, stream, status, fields, BodyLength::Known(0))?;
                status
            }
            _ => {
                self.encode_head(connection, stream, 200, fields, BodyLength::Known(coded.len() as u64))?;
                200
            }
        };
        if let Stage::Started(SentBody::Length(length)) = stream.stage
            && length > 0
        {
            stream.written = length;
            stream.out.bytes.extend_from_slice(coded);
        }
        self.end_response(connection, stream);
        self.enqueue(stream.connection, connection);
        Ok(status)
    }
}

/// Opens the file that lies beside another and has this extension in addition.
pub type Beside<'b> = dyn Fn(&str) -> Option<Opened> + 'b;

/// The first accepted coding that lies beside the file, made from its current version.
fn neighbour(beside: &Beside<'_>, original: &Opened, accepted: &[Coding]) -> Option<(Coding, Opened)> {
    accepted.iter().find_map(|coding| {
        let coded = beside(coding.extension())?;
        (coded.modified >= original.modified).then_some((*coding, coded))
    })
}

/// Whether who answers has said that the file is sent as it is.
fn is_final(headers: &Headers<'_>) -> bool {
    headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case(b"content-encoding") || is_not_transformed(name, value)
    })
}

fn has(headers: &Headers<'_>, wanted: &str) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()))
}

/// The fields of a file in a coding: those that were given, but with this tag.
fn coded_fields<'h>(
    headers: &Headers<'h>,
    kind: &'h [u8],
    coding: Coding,
    etag: Option<&'h [u8]>,
) -> Vec<(&'h [u8], &'h [u8])> {
    const OURS: [&[u8]; 3] = [b"content-type", b"content-length", b"etag"];
    let is_theirs = |field: &&(&[u8], &[u8])| !OURS.iter().any(|name| field.0.eq_ignore_ascii_case(name));
    let mut fields: Vec<_> = headers.iter().filter(is_theirs).copied().collect();
    fields.extend([(&b"Content-Type"[..], kind), (b"Content-Encoding", coding.name().as_bytes()), VARY]);
    fields.extend(etag.map(|etag| (&b"ETag"[..], etag)));
    fields
}

/// The tag that was given, for a coding.
fn coded_tag(headers: &Headers<'_>, coding: Coding) -> Option<Vec<u8>> {
    let given = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"etag"))?;
    Some(tagged(given.1, coding))
}

/// A different representation needs a different tag (RFC 9110 section 8.8.3.3).
fn tagged(etag: &[u8], coding: Coding) -> Vec<u8> {
    match etag.strip_suffix(b"\"") {
        Some(start) => [start, b"-", coding.name().as_bytes(), b"\""].concat(),
        // It is none.
        None => etag.to_vec(),
    }
}
