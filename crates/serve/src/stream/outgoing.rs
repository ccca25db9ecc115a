//! Bytes and parts of files that wait for the peer to read them.
//!
//! Must not know what the bytes mean, nor how they travel. Invariants: bytes spilled to a temporary file
//! are sent first, then those in memory, then the segments, each in the order in which they came. A flush ends only
//! when nothing is left or the kernel returns EAGAIN, so the next edge is certain to come.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::spool::{Spool, TemporaryFile, Use};
use crate::transport::Transport;

/// Bytes already sent that may stay at the front of the queue.
const GONE_BYTES_MAX: usize = 64 * 1024;

/// What follows the bytes that were queued first.
pub(crate) enum Segment {
    Bytes(Vec<u8>),
    /// A part of [`Outgoing::file`].
    File {
        offset: u64,
        length: u64,
    },
}

impl Segment {
    /// The number of bytes it stands for.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Segment::Bytes(bytes) => bytes.len() as u64,
            Segment::File { length, .. } => *length,
        }
    }
}

/// The outcome of a flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flush {
    /// The kernel has everything.
    Done,
    /// The peer's window is full; an event will come.
    Blocked {
        /// Bytes sent since the flush began.
        sent: u64,
    },
    /// The connection is broken, or the file is shorter than announced.
    Broken,
}

/// Bytes that did not fit in memory. As long as there are some, none of those in memory have been sent.
struct Spilled {
    file: TemporaryFile,
    sent: u64,
}

/// The queue of one connection.
#[derive(Default)]
pub(crate) struct Outgoing {
    spilled: Option<Spilled>,
    /// Encoded bytes; those before `sent` have been sent.
    pub bytes: Vec<u8>,
    sent: usize,
    pub segments: VecDeque<Segment>,
    pub file: Option<OwnedFd>,
}

impl Outgoing {
    /// Bytes that wait in memory, without those in files.
    pub(crate) fn pending(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Whether nothing waits in a file.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.segments.is_empty() && self.spilled.is_none()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending() == 0 && self.is_in_memory()
    }

    /// Bytes of this queue that were put into a temporary file and are still there.
    pub(crate) fn spilled(&self) -> u64 {
        self.spilled.as_ref().map_or(0, |spilled| spilled.file.length())
    }

    /// Moves the bytes that wait in memory into a temporary file. If that is not possible, returns false and
    /// changes nothing.
    pub(crate) fn spill(&mut self, spool: &Spool) -> bool {
        let waiting = &self.bytes[self.sent..];
        let done = match &mut self.spilled {
            Some(spilled) => spilled.file.append(spool, waiting).is_ok(),
            None => {
                let begin = |mut file: TemporaryFile| file.append(spool, waiting).map(|()| file);
                self.spilled =
                    spool.create(Use::Response).and_then(begin).ok().map(|file| Spilled { file, sent: 0 });
                self.spilled.is_some()
            }
        };
        if done {
            self.bytes.clear();
            self.sent = 0;
            spool.spills.set(spool.spills.get() + 1);
        }
        done
    }

    /// The bytes that wait, if that is all there is.
    pub(crate) fn all_in_memory(&self) -> Option<&[u8]> {
        self.is_in_memory().then(|| &self.bytes[self.sent..])
    }

    /// Takes the bytes out, if that is all there is and none of them has been sent.
    pub(crate) fn take_unsent(&mut self) -> Option<Vec<u8>> {
        (self.sent == 0 && self.is_in_memory()).then(|| std::mem::take(&mut self.bytes))
    }

    /// Drops everything, because no peer will read it.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
        self.segments.clear();
        self.file = None;
        self.spilled = None;
    }

    /// Sends as much as the transport accepts.
    pub(crate) fn flush(&mut self, transport: &mut Transport) -> Flush {
        let mut total = 0;
        loop {
            let step = if let Some(spilled) = &mut self.spilled {
                let left = spilled.file.length() - spilled.sent;
                if left == 0 {
                    self.spilled = None;
                    continue;
                }
                match transport.send_file(spilled.file.fd(), &mut spilled.sent, left) {
                    // Another process has truncated it.
                    Ok(0) => Err(Errno::IO),
                    other => other,
                }
            } else if self.pending() > 0 {
                let more = !self.segments.is_empty();
                transport.send(&self.bytes[self.sent..], more).inspect(|&count| self.advance(count))
            } else {
                match self.segments.pop_front() {
                    None => {
                        self.file = None;
                        return match transport.settle() {
                            Ok(()) => Flush::Done,
                            Err(Errno::AGAIN) => Flush::Blocked { sent: total },
                            Err(_) => Flush::Broken,
                        };
                    }
                    Some(Segment::Bytes(bytes)) => {
                        (self.bytes, self.sent) = (bytes, 0);
                        continue;
                    }
                    Some(Segment::File { offset, length }) => self.send_file(transport, offset, length),
                }
            };
            match step {
                Ok(count) => total += count as u64,
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN) => return Flush::Blocked { sent: total },
                Err(_) => return Flush::Broken,
            }
        }
    }

    /// Sends the queue and then `data`. Copies as much of the rest as `room` allows. Returns how much was accepted in
    /// total.
    pub(crate) fn send_with(
        &mut self,
        transport: &mut Transport,
        mut data: &[u8],
        room: usize,
    ) -> (Flush, usize) {
        let (mut total, whole) = (0, data.len());
        let mut flushed = Flush::Done;
        while self.is_in_memory() && !data.is_empty() {
            match transport.send_both(&self.bytes[self.sent..], data) {
                Ok(count) => {
                    total += count as u64;
                    let queued = count.min(self.pending());
                    self.advance(queued);
                    data = &data[count - queued..];
                }
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN) => {
                    flushed = Flush::Blocked { sent: total };
                    break;
                }
                Err(_) => return (Flush::Broken, whole),
            }
        }
        let kept = data.len().min(room.saturating_sub(self.pending()));
        self.bytes.extend_from_slice(&data[..kept]);
        (flushed, whole - data.len() + kept)
    }

    fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent >= GONE_BYTES_MAX && self.sent >= self.bytes.len() / 2 {
            // A stream whose peer never quite catches up must not grow by the bytes already sent.
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    fn send_file(
        &mut self,
        transport: &mut Transport,
        mut offset: u64,
        length: u64,
    ) -> rustix::io::Result<usize> {
        let Some(file) = &self.file else { return Err(Errno::BADF) };
        let result = transport.send_file(file, &mut offset, length);
        let left = length - *result.as_ref().unwrap_or(&0) as u64;
        match result {
            // The file has been truncated since its length was announced: the response cannot be completed.
            Ok(0) => return Err(Errno::IO),
            _ if left > 0 => self.segments.push_front(Segment::File { offset, length: left }),
            _ => (),
        }
        result
    }
}
