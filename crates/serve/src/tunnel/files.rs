//! Files that wait to be sent on a tunnel, each behind the messages that were sent before it.
//!
//! Must not know what is in them. Invariants: no byte of a file waits in memory; a file is sent as a whole or is the last of which
//! anything is sent.

use std::collections::VecDeque;
use std::ops::Range;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::transport::Transport;

/// Files of one tunnel: each holds a descriptor.
pub(crate) const FILES_MAX: usize = 16;

/// Files, in their order.
#[derive(Default)]
pub(crate) struct Files {
    waiting: VecDeque<Part>,
    /// Whether a file has ended before what was to be sent of it.
    pub is_cut: bool,
}

/// A part of a file, and what comes before it.
pub(crate) struct Part {
    pub file: OwnedFd,
    pub bytes: Range<u64>,
    /// What announces it, as far as it was not sent.
    pub head: Vec<u8>,
    /// Messages that are sent before it, and behind the file before it.
    behind: usize,
}

impl Part {
    pub(crate) fn new(file: OwnedFd, bytes: Range<u64>, head: Vec<u8>) -> Part {
        Part { file, bytes, head, behind: 0 }
    }
}

impl Files {
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= FILES_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts a file behind all that wait, and behind so many messages that do.
    pub(crate) fn push(&mut self, mut part: Part, messages: usize) {
        let before: usize = self.waiting.iter().map(|part| part.behind).sum();
        part.behind = messages - before;
        self.waiting.push_back(part);
    }

    /// Whether it is a file's turn.
    pub(crate) fn are_due(&self) -> bool {
        self.waiting.front().is_some_and(|part| part.behind == 0)
    }

    /// The message that has waited longest is on its way, or was dropped.
    pub(crate) fn message_left(&mut self) {
        if let Some(part) = self.waiting.iter_mut().find(|part| part.behind > 0) {
            part.behind -= 1;
        }
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> u64 {
        let of = |part: &Part| part.head.len() as u64 + (part.bytes.end - part.bytes.start);
        self.waiting.iter().map(of).sum()
    }

    /// Sends some of the first file.
    pub(crate) fn send(&mut self, transport: &mut Transport) -> rustix::io::Result<usize> {
        let Some(part) = self.waiting.front_mut() else { return Ok(0) };
        let sent = if part.head.is_empty() {
            let mut at = part.bytes.start;
            let sent = match part.bytes.end - at {
                0 => 0,
                left => match transport.send_file(&part.file, &mut at, left)? {
                    0 => {
                        self.is_cut = true;
                        return Err(Errno::IO);
                    }
                    sent => sent,
                },
            };
            part.bytes.start += sent as u64;
            sent
        } else {
            let sent = transport.send(&part.head, true)?;
            part.head.drain(..sent);
            sent
        };
        if part.head.is_empty() && part.bytes.is_empty() {
            self.waiting.pop_front();
        }
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> Part {
        Part::new(std::fs::File::open("/dev/null").unwrap().into(), 0..7, vec![b'h'])
    }

    #[test]
    fn each_file_waits_for_the_messages_before_it() {
        let mut files = Files::default();
        // One message, a file, a file, two messages, a file.
        files.push(part(), 1);
        files.push(part(), 1);
        files.push(part(), 3);
        assert!(!files.are_due() && files.bytes() == 24);
        files.message_left();
        assert!(files.are_due());
        // The oldest message is dropped while the first file is sent: one of the two before the last.
        files.message_left();
        assert_eq!(files.waiting.iter().map(|part| part.behind).collect::<Vec<_>>(), [0, 0, 1]);
        files.waiting.drain(..2);
        assert!(!files.are_due());
        files.message_left();
        files.message_left();
        assert!(files.are_due());
        (0..FILES_MAX - 1).for_each(|_| files.push(part(), 0));
        assert!(files.is_full());
    }
}
