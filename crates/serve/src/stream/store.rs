//! A request's body as it arrives: decoded, counted, and kept in memory, or above a limit in a temporary file.
//!
//! Must not know the socket. Invariant: after a failure it accepts no more bytes, so the bytes that were read stay
//! consistent with the status that the handler was given.

use std::os::fd::OwnedFd;

use weft_proto::{Body, Framing, RequestLimits};

use crate::ServerLimits;
use crate::spool::{Spool, TemporaryFile, Use};

/// A body and its storage.
pub(crate) struct Store {
    decoder: Body,
    memory: Vec<u8>,
    file: Option<TemporaryFile>,
    /// Bytes received, decoded.
    received: u64,
    /// The status for the handler; no more bytes will come.
    failed: Option<u16>,
    /// Whether the peer waits for a 100 before it sends.
    pub expects: bool,
    /// The number of bytes to receive until a reader asks for more.
    wanted: u64,
    /// Whether received bytes are only counted, not kept.
    pub discarding: bool,
}

impl Default for Store {
    fn default() -> Store {
        Store {
            decoder: Body::Length(0),
            memory: Vec::new(),
            file: None,
            received: 0,
            failed: None,
            expects: false,
            wanted: 0,
            discarding: false,
        }
    }
}

impl Store {
    /// Prepares for the body of another request. A small memory buffer is kept.
    pub(crate) fn begin(&mut self, framing: Framing, expects: bool, limits: &ServerLimits) {
        self.decoder = Body::new(framing, &limits.http);
        self.clear();
        self.expects = expects;
        self.wanted = limits.body_memory_bytes_max as u64;
    }

    /// Allows the body, of which nothing has been taken, this many bytes at most.
    pub(crate) fn restrict(&mut self, framing: Framing, limits: &ServerLimits, bytes_max: u64) {
        if bytes_max >= limits.http.body_bytes_max {
            return;
        }
        if matches!(framing, Framing::Length(length) if length > bytes_max) {
            self.fail(413);
        }
        self.decoder = Body::new(framing, &RequestLimits { body_bytes_max: bytes_max, ..limits.http });
    }

    /// Drops the bytes.
    pub(crate) fn clear(&mut self) {
        const KEPT_BYTES_MAX: usize = 16 * 1024;
        self.memory.clear();
        if self.memory.capacity() > KEPT_BYTES_MAX {
            self.memory = Vec::new();
        }
        self.file = None;
        (self.received, self.failed) = (0, None);
        (self.expects, self.discarding) = (false, false);
    }

    /// Takes the part of the body that `input` holds; returns the number of its bytes. The rest belongs to the
    /// next request.
    pub(crate) fn take(&mut self, input: &[u8], limits: &ServerLimits, spool: &Spool) -> usize {
        let mut used = 0;
        while used < input.len() && self.failed.is_none() && !self.decoder.is_done() {
            match self.decoder.decode(&input[used..]) {
                Ok(step) => {
                    let data = &input[used + step.data.start..used + step.data.end];
                    used += step.consumed;
                    self.push(data, limits, spool);
                }
                Err(reject) => self.fail(reject.status),
            }
        }
        if used > 0 {
            self.expects = false;
        }
        used
    }

    fn push(&mut self, data: &[u8], limits: &ServerLimits, spool: &Spool) {
        self.received += data.len() as u64;
        if self.discarding || data.is_empty() {
            return;
        }
        if self.file.is_none() {
            if self.memory.len() + data.len() <= limits.body_memory_bytes_max {
                self.memory.extend_from_slice(data);
                return;
            }
            match spool.create(Use::Body) {
                Ok(file) => self.file = Some(file),
                Err(_) => return self.fail(507),
            }
            let memory = std::mem::take(&mut self.memory);
            self.append(&memory, spool);
        }
        self.append(data, spool);
    }

    fn append(&mut self, data: &[u8], spool: &Spool) {
        let Some(file) = &mut self.file else { return };
        // No space is left, the limit is reached, or the disk is broken.
        if self.failed.is_none() && file.append(spool, data).is_err() {
            self.fail(507);
        }
    }

    /// What carries the body has ended: it is complete, or cut off.
    pub(crate) fn end(&mut self) {
        if !self.decoder.end() {
            self.fail(400);
        }
    }

    /// Records that no more bytes will come.
    pub(crate) fn fail(&mut self, status: u16) {
        self.failed.get_or_insert(status);
    }

    pub(crate) fn failed(&self) -> Option<u16> {
        self.failed
    }

    /// Whether all of it has arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.failed.is_none() && self.decoder.is_done()
    }

    /// Whether more of it will come.
    pub(crate) fn is_pending(&self) -> bool {
        self.failed.is_none() && !self.decoder.is_done()
    }

    /// A reader asks for the bytes before `offset`. Returns whether that is more than any reader has asked for, and
    /// more than has arrived.
    pub(crate) fn want(&mut self, offset: u64) -> bool {
        let stood = !self.is_wanted();
        self.wanted = self.wanted.max(offset);
        stood && self.is_wanted()
    }

    /// Whether more of it will come and should be received now.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_pending() && (self.discarding || self.received < self.wanted)
    }

    /// The maximum number of bytes to receive now.
    pub(crate) fn wanted(&self) -> u64 {
        let asked = if self.discarding { u64::MAX } else { self.wanted.saturating_sub(self.received) };
        self.left().map_or(asked, |left| left.min(asked))
    }

    /// The number of bytes still to come, if it is known.
    pub(crate) fn left(&self) -> Option<u64> {
        match &self.decoder {
            Body::Length(left) => Some(*left),
            Body::Chunked(_) | Body::UntilEnd { .. } => None,
        }
    }

    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Whether a reader at `offset` would get something: data, the end, or a failure.
    pub(crate) fn is_readable(&self, offset: u64) -> bool {
        offset < self.received || !self.is_pending()
    }

    /// Copies the bytes that have arrived from `offset` on; returns 0 if there are none now.
    pub(crate) fn read(&mut self, offset: u64, buffer: &mut [u8]) -> usize {
        let room = buffer.len().min(self.received.saturating_sub(offset) as usize);
        match &self.file {
            None => {
                // Less than `received` if the file could not be created.
                let arrived = self.memory.get(offset as usize..).unwrap_or_default();
                let count = room.min(arrived.len());
                buffer[..count].copy_from_slice(&arrived[..count]);
                count
            }
            Some(file) => match rustix::io::pread(file.fd(), &mut buffer[..room], offset) {
                Ok(count) => count,
                Err(_) => {
                    self.fail(500);
                    0
                }
            },
        }
    }

    pub(crate) fn memory(&self) -> &[u8] {
        &self.memory
    }

    pub(crate) fn file(&self) -> Option<&OwnedFd> {
        self.file.as_ref().map(TemporaryFile::fd)
    }

    pub(crate) fn trailers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.decoder.trailers()
    }
}
