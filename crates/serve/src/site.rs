//! Files of a site: unchanged, from a compressed file beside them, or compressed now.
//!
//! Must not know which files may be served: the caller decides. Invariant: each answer for a file says in Vary that it
//! depends on Accept-Encoding if, and only if, another client may get another one. Text is sent without a charset, as
//! nginx does: files say themselves in which one they are written.

use std::path::Path;
use std::rc::Rc;

use weft_proto::{BodyLength, Coding, SentBody, format_date};

use crate::compress::{VARY, compress};
use crate::file::{Plan, read};
use crate::keys::RequestKey;
use crate::media_type::{is_text, media_type};
use crate::opened::Opened;
use crate::root::{Look, Root};
use crate::server::Server;
use crate::stream::Stage;
use crate::stream::respond::Error;

impl Server {
    /// Answers with the file of this name below `root`, as [`Server::respond_file`] does. Text is sent in the coding
    /// that the client prefers: from a neighbour with the coding's extension (`.br`, `.zst`, `.gz`) that is not older
    /// than the file; otherwise it is compressed here, if [`crate::ServerLimits`] allows.
    ///
    /// # Errors
    /// As [`Server::respond_file`].
    pub fn respond_site_file(&self, key: RequestKey, root: &Root, name: &[u8]) -> Result<u16, Error> {
        let path = root.below(name);
        let kind = media_type(&path).as_bytes();
        let opened = root.file(name)?;
        if !is_text(kind) {
            return self.respond_opened(key, 200, &[], opened, &path);
        }
        let accepted = self
            .with_request(key, |request| Coding::accepted(request.header("accept-encoding")))
            .unwrap_or_default();
        if let Some((coding, neighbour)) = neighbour(root, name, &opened, &accepted) {
            let headers: [(&[u8], &[u8]); 3] =
                [(b"Content-Type", kind), (b"Content-Encoding", coding.name().as_bytes()), VARY];
            return self.respond_opened(key, 200, &headers, neighbour, &path);
        }
        let compressible = self.is_compressible(opened.length);
        match accepted.first() {
            Some(coding) if compressible => self.respond_compressed(key, &path, opened, *coding, kind),
            _ => {
                let varies = compressible || neighbour(root, name, &opened, &Coding::ALL).is_some();
                let headers: [(&[u8], &[u8]); 2] = [(b"Content-Type", kind), VARY];
                self.respond_opened(key, 200, &headers[..1 + usize::from(varies)], opened, &path)
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
        path: &Path,
        opened: Opened,
        coding: Coding,
        kind: &[u8],
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
            return self.respond_opened(key, 200, &[(b"Content-Type", kind), VARY], opened, path);
        };
        // A different representation needs a different tag (RFC 9110 section 8.8.3.3).
        let etag = format!("{}-{}\"", opened.etag.trim_end_matches('"'), coding.name());
        let modified = format_date(opened.modified);
        let fields: [(&[u8], &[u8]); 5] = [
            (b"Content-Type", kind),
            (b"Content-Encoding", coding.name().as_bytes()),
            VARY,
            (b"ETag", etag.as_bytes()),
            (b"Last-Modified", &modified),
        ];
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

/// The first accepted coding that lies beside the file, made from its current version. It follows the same rules as the
/// file: a link must not lead out of a confined root, nor to a file that is never sent.
fn neighbour(root: &Root, name: &[u8], original: &Opened, accepted: &[Coding]) -> Option<(Coding, Opened)> {
    accepted.iter().find_map(|coding| {
        let name = [name, b".", coding.extension().as_bytes()].concat();
        let coded = (root.look(&name) == Look::File).then(|| root.file(&name).ok())??;
        (coded.modified >= original.modified).then_some((*coding, coded))
    })
}
