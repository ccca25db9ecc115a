//! What waits to be sent on a tunnel: frames, in their order, within a bound.
//!
//! A frame may be shared by all tunnels that get it. Must not know what a frame says. Invariants: a frame of which a part
//! was sent is sent as a whole; nothing follows a close frame; of pings and pongs at most one each waits.

use std::rc::Rc;

use rustix::io::Errno;
use weft_proto::framing::Unframable;
use weft_proto::websocket::{CloseCode, close_frame, ping_frame, pong_frame};

use crate::stream::outgoing::Flush;
use crate::transport::Transport;
use crate::tunnel::few::Few;

/// What becomes of a message for which there is no room because the peer does not keep up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overflow {
    /// The tunnel is closed with 1013.
    #[default]
    Close,
    /// The messages that have waited longest are dropped for it.
    DropOldest,
    /// It is dropped.
    DropNewest,
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// It will be sent.
    Queued,
    /// There was no room for it, and it is lost.
    Dropped,
    /// There was no room for it, and the tunnel closes for that.
    Overflowed,
    /// The tunnel has ended, or is closing.
    Gone,
    /// It cannot be framed as the tunnel's messages are.
    Unframable(Unframable),
}

/// A frame that waits, perhaps of many tunnels.
pub(crate) type Frame = Rc<[u8]>;

#[derive(Default)]
pub(crate) struct Outbox {
    /// The frame that is being sent, and how much of it has been.
    front: Option<(Frame, usize)>,
    /// Pings and pongs overtake messages, so that a long queue is no silence.
    pong: Option<Frame>,
    ping: Option<Frame>,
    messages: Few<Frame>,
    close: Option<Frame>,
    /// Bytes of `messages`.
    bytes: usize,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.front.is_none()
            && self.pong.is_none()
            && self.ping.is_none()
            && self.messages.is_empty()
            && self.close.is_none()
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.front.as_ref().map_or(0, |(frame, sent)| frame.len() - sent)
    }

    /// Puts a message into the queue, within `max` bytes.
    pub(crate) fn push(&mut self, frame: Frame, max: usize, overflow: Overflow) -> Sent {
        let fits = |outbox: &Outbox| outbox.bytes() + frame.len() <= max;
        if overflow == Overflow::DropOldest && frame.len() <= max {
            while !fits(self)
                && let Some(oldest) = self.messages.pop_front()
            {
                self.bytes -= oldest.len();
            }
        }
        if fits(self) || self.is_empty() {
            self.bytes += frame.len();
            self.messages.push_back(frame);
            return Sent::Queued;
        }
        if overflow == Overflow::Close { Sent::Overflowed } else { Sent::Dropped }
    }

    pub(crate) fn pong(&mut self, payload: &[u8]) {
        self.pong = Some(pong_frame(payload).into());
    }

    pub(crate) fn ping(&mut self) {
        self.beat(ping_frame(b"").into());
    }

    /// What a peer gets that has been sent nothing for long.
    pub(crate) fn beat(&mut self, frame: Frame) {
        self.ping = Some(frame);
    }

    /// The last frame.
    pub(crate) fn close(&mut self, code: CloseCode, reason: &str) {
        self.close = Some(close_frame(code, reason).into());
    }

    /// The last frame of what is no WebSocket, if it has one.
    pub(crate) fn end_with(&mut self, frame: Option<Frame>) {
        self.close = frame;
    }

    /// Forgets the messages of which nothing has been sent.
    pub(crate) fn drop_messages(&mut self) {
        self.messages = Few::None;
        self.bytes = 0;
        (self.ping, self.pong) = (None, None);
    }

    /// Sends as much as the transport accepts.
    pub(crate) fn flush(&mut self, transport: &mut Transport) -> Flush {
        let mut total = 0;
        loop {
            let Some((frame, sent)) = &self.front else {
                if let Some(frame) = self.next() {
                    self.front = Some((frame, 0));
                    continue;
                }
                return match transport.settle() {
                    Ok(()) => Flush::Done,
                    Err(Errno::AGAIN) => Flush::Blocked { sent: total },
                    Err(_) => Flush::Broken,
                };
            };
            let second = self.peek();
            let result = match second {
                Some(second) => transport.send_both(&frame[*sent..], second),
                None => transport.send(&frame[*sent..], false),
            };
            match result {
                Ok(count) => {
                    total += count as u64;
                    self.advance(count);
                }
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN) => return Flush::Blocked { sent: total },
                Err(_) => return Flush::Broken,
            }
        }
    }

    /// The frame after the first.
    fn peek(&self) -> Option<&Frame> {
        self.pong.as_ref().or(self.ping.as_ref()).or(self.messages.front()).or(self.close.as_ref())
    }

    fn next(&mut self) -> Option<Frame> {
        if let Some(frame) = self.pong.take().or_else(|| self.ping.take()) {
            return Some(frame);
        }
        if let Some(frame) = self.messages.pop_front() {
            self.bytes -= frame.len();
            return Some(frame);
        }
        self.close.take()
    }

    /// This many bytes of the first two frames have been sent.
    fn advance(&mut self, mut count: usize) {
        while let Some((frame, sent)) = &mut self.front {
            let left = frame.len() - *sent;
            if count < left {
                *sent += count;
                return;
            }
            count -= left;
            self.front = None;
            if count > 0 {
                self.front = self.next().map(|frame| (frame, 0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: usize) -> Frame {
        vec![b'x'; length].into()
    }

    #[test]
    fn a_full_queue_is_treated_as_its_policy_says() {
        for (overflow, sent, waiting) in
            [(Overflow::Close, Sent::Overflowed, 90), (Overflow::DropNewest, Sent::Dropped, 90)]
        {
            let mut outbox = Outbox::default();
            assert_eq!(outbox.push(frame(90), 100, overflow), Sent::Queued);
            assert_eq!(outbox.push(frame(20), 100, overflow), sent);
            assert_eq!(outbox.bytes(), waiting);
        }
        let mut outbox = Outbox::default();
        for _ in 0..3 {
            assert_eq!(outbox.push(frame(60), 100, Overflow::DropOldest), Sent::Queued);
            assert_eq!(outbox.bytes(), 60);
        }
        assert_eq!(outbox.push(frame(101), 100, Overflow::DropOldest), Sent::Dropped);
        assert_eq!(outbox.bytes(), 60);
    }

    #[test]
    fn a_message_larger_than_the_queue_is_sent_when_nothing_waits() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.push(frame(500), 100, Overflow::Close), Sent::Queued);
        assert_eq!(outbox.push(frame(1), 100, Overflow::Close), Sent::Overflowed);
    }

    #[test]
    fn bytes_that_were_sent_may_end_within_any_frame() {
        for cut in 1..=9 {
            let mut outbox = Outbox::default();
            for length in [4, 3, 2] {
                outbox.push(frame(length), 100, Overflow::Close);
            }
            outbox.front = outbox.next().map(|frame| (frame, 0));
            outbox.advance(cut.min(7));
            outbox.front = outbox.front.take().or_else(|| outbox.next().map(|frame| (frame, 0)));
            outbox.advance(cut.saturating_sub(7));
            assert_eq!(outbox.bytes(), 9 - cut, "{cut}");
            assert_eq!(outbox.is_empty(), cut == 9);
        }
    }

    #[test]
    fn control_frames_overtake_messages_and_the_close_frame_is_the_last() {
        let mut outbox = Outbox::default();
        outbox.push(frame(3), 100, Overflow::Close);
        outbox.close(CloseCode::NORMAL, "");
        outbox.ping();
        outbox.pong(b"1");
        outbox.pong(b"2");
        let order: Vec<u8> = std::iter::from_fn(|| outbox.next()).map(|frame| frame[0]).collect();
        assert_eq!(order, [0x8A, 0x89, b'x', 0x88]);
    }
}
