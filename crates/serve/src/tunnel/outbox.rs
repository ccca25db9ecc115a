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
use crate::tunnel::files::{Files, Part};
use crate::tunnel::newest::{Newest, StateKey};

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
    /// The tunnel is closed with 1013; but while a message with a key waits, a newer one with the same key takes its place.
    KeepNewest,
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
    /// Bytes of `messages`.
    bytes: usize,
    rare: Option<Box<Rare>>,
}

/// What few queues have, and none for long.
#[derive(Default)]
struct Rare {
    /// The places of messages with keys.
    newest: Newest,
    /// Files among the messages.
    files: Files,
    close: Option<Frame>,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.front.is_none()
            && self.pong.is_none()
            && self.ping.is_none()
            && self.messages.is_empty()
            && self.rare.as_ref().is_none_or(|rare| rare.files.is_empty() && rare.close.is_none())
    }

    /// Bytes that wait, those of files apart.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.front.as_ref().map_or(0, |(frame, sent)| frame.len() - sent)
    }

    /// Bytes of files that wait.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.files.bytes())
    }

    /// Whether a file has ended before what was to be sent of it.
    pub(crate) fn is_cut(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.files.is_cut)
    }

    /// Puts a part of a file into the queue; returns whether there was room for one more.
    pub(crate) fn push_file(&mut self, part: Part) -> bool {
        let files = &mut self.rare.get_or_insert_default().files;
        let has_room = !files.is_full();
        if has_room {
            files.push(part, self.messages.len());
        }
        has_room
    }

    /// Puts a message into the queue, within `max` bytes; or in the place of one with the same key.
    pub(crate) fn push(
        &mut self,
        frame: Frame,
        key: Option<StateKey>,
        max: usize,
        overflow: Overflow,
    ) -> Sent {
        let key = if overflow == Overflow::KeepNewest { key } else { None };
        if let Some(key) = key
            && let Some(sent) = self.replace(key, &frame, max)
        {
            return sent;
        }
        let fits = |outbox: &Outbox| outbox.bytes() + frame.len() <= max;
        if overflow == Overflow::DropOldest && frame.len() <= max {
            while !fits(self)
                && let Some(oldest) = self.messages.pop_front()
            {
                self.bytes -= oldest.len();
                self.message_left();
            }
        }
        if fits(self) || self.is_empty() {
            if let Some(key) = key {
                self.rare.get_or_insert_default().newest.note(key, self.messages.len());
            }
            self.bytes += frame.len();
            self.messages.push_back(frame);
            return Sent::Queued;
        }
        match overflow {
            Overflow::Close | Overflow::KeepNewest => Sent::Overflowed,
            Overflow::DropOldest | Overflow::DropNewest => Sent::Dropped,
        }
    }

    /// Puts a message into the place of the one with this key, if one waits: behind the others, one that changes often would never
    /// be sent.
    fn replace(&mut self, key: StateKey, frame: &Frame, max: usize) -> Option<Sent> {
        let place = self.rare.as_ref()?.newest.find(key)?;
        let all = self.bytes();
        let older = self.messages.get_mut(place)?;
        let others = all - older.len();
        if others > 0 && others + frame.len() > max {
            return Some(Sent::Overflowed);
        }
        self.bytes = self.bytes - older.len() + frame.len();
        *older = Frame::clone(frame);
        Some(Sent::Queued)
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
        self.end_with(Some(close_frame(code, reason).into()));
    }

    /// The last frame of what is no WebSocket, if it has one.
    pub(crate) fn end_with(&mut self, frame: Option<Frame>) {
        match (&mut self.rare, frame) {
            (None, None) => (),
            (rare, frame) => rare.get_or_insert_default().close = frame,
        }
    }

    /// Forgets the messages of which nothing has been sent, and the files.
    pub(crate) fn drop_messages(&mut self) {
        (self.messages, self.bytes, self.rare) = (Few::None, 0, None);
        (self.ping, self.pong) = (None, None);
    }

    /// Sends as much as the transport accepts.
    pub(crate) fn flush(&mut self, transport: &mut Transport) -> Flush {
        let mut total = 0;
        loop {
            let result = if let Some((frame, sent)) = &self.front {
                match self.peek() {
                    Some(second) => transport.send_both(&frame[*sent..], second),
                    None => transport.send(&frame[*sent..], self.files().is_some()),
                }
            } else if let Some(frame) = self.next() {
                self.front = Some((frame, 0));
                continue;
            } else if self.files().is_some()
                && let Some(rare) = &mut self.rare
            {
                rare.files.send(transport)
            } else {
                return match transport.settle() {
                    Ok(()) => Flush::Done,
                    Err(Errno::AGAIN) => Flush::Blocked { sent: total },
                    Err(_) => Flush::Broken,
                };
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

    /// The frame after the first, unless a file comes before it.
    fn peek(&self) -> Option<&Frame> {
        let control = self.pong.as_ref().or(self.ping.as_ref());
        let first = control.or(self.messages.front());
        let Some(rare) = &self.rare else { return first };
        if rare.files.are_due() {
            control
        } else if rare.files.is_empty() {
            first.or(rare.close.as_ref())
        } else {
            first
        }
    }

    fn files(&self) -> Option<&Files> {
        self.rare.as_ref().map(|rare| &rare.files).filter(|files| !files.is_empty())
    }

    #[inline]
    fn next(&mut self) -> Option<Frame> {
        if self.pong.is_some() || self.ping.is_some() {
            return self.pong.take().or_else(|| self.ping.take());
        }
        if self.rare.is_some() {
            return self.next_beside_rare();
        }
        let frame = self.messages.pop_front()?;
        self.bytes -= frame.len();
        Some(frame)
    }

    #[cold]
    fn next_beside_rare(&mut self) -> Option<Frame> {
        if self.files().is_some_and(Files::are_due) {
            return None;
        }
        if let Some(frame) = self.messages.pop_front() {
            self.bytes -= frame.len();
            self.message_left();
            return Some(frame);
        }
        self.rare.take()?.close
    }

    /// The first message is no longer among those that wait.
    fn message_left(&mut self) {
        if let Some(rare) = &mut self.rare {
            rare.newest.take_first();
            rare.files.message_left();
        }
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
            assert_eq!(outbox.push(frame(90), None, 100, overflow), Sent::Queued);
            assert_eq!(outbox.push(frame(20), None, 100, overflow), sent);
            assert_eq!(outbox.bytes(), waiting);
        }
        let mut outbox = Outbox::default();
        for _ in 0..3 {
            assert_eq!(outbox.push(frame(60), None, 100, Overflow::DropOldest), Sent::Queued);
            assert_eq!(outbox.bytes(), 60);
        }
        assert_eq!(outbox.push(frame(101), None, 100, Overflow::DropOldest), Sent::Dropped);
        assert_eq!(outbox.bytes(), 60);
    }

    #[test]
    fn the_newest_of_a_key_takes_the_place_of_the_older_one() {
        let mut outbox = Outbox::default();
        let key = |number| Some(StateKey::numbered(number));
        let mut push = |letter: u8, length: usize, key| {
            outbox.push(vec![letter; length].into(), key, 100, Overflow::KeepNewest)
        };
        for (letter, key) in [(b'a', key(1)), (b'b', key(2)), (b'-', None), (b'A', key(1)), (b'-', None)] {
            assert_eq!(push(letter, 10, key), Sent::Queued);
        }
        // Whether it fits is asked without the one whose place it takes.
        assert_eq!(push(b'B', 70, key(2)), Sent::Queued);
        assert_eq!(push(b'A', 11, key(1)), Sent::Overflowed);
        assert_eq!(push(b'c', 1, key(3)), Sent::Overflowed);
        assert_eq!(outbox.bytes(), 100);
        assert_eq!(outbox.next().map(|frame| frame[0]), Some(b'A'));
        // One that was taken is sent; the newer one comes behind the others.
        assert_eq!(outbox.push(frame(10), key(1), 100, Overflow::KeepNewest), Sent::Queued);
        let order: Vec<u8> = std::iter::from_fn(|| outbox.next()).map(|frame| frame[0]).collect();
        assert_eq!(order, *b"B--x");
        assert!(outbox.rare.is_none() && outbox.bytes() == 0);
        // One that waits alone may be larger than the queue.
        assert_eq!(outbox.push(frame(10), key(1), 100, Overflow::KeepNewest), Sent::Queued);
        assert_eq!(outbox.push(frame(101), key(1), 100, Overflow::KeepNewest), Sent::Queued);
        outbox.drop_messages();
        assert!(outbox.rare.is_none() && outbox.is_empty());
    }

    #[test]
    fn keys_mean_nothing_to_the_other_policies() {
        for overflow in [Overflow::Close, Overflow::DropOldest, Overflow::DropNewest] {
            let mut outbox = Outbox::default();
            for _ in 0..2 {
                assert_eq!(outbox.push(frame(10), Some(StateKey::numbered(1)), 100, overflow), Sent::Queued);
            }
            assert!(outbox.bytes() == 20 && outbox.rare.is_none());
        }
    }

    #[test]
    fn a_message_larger_than_the_queue_is_sent_when_nothing_waits() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.push(frame(500), None, 100, Overflow::Close), Sent::Queued);
        assert_eq!(outbox.push(frame(1), None, 100, Overflow::Close), Sent::Overflowed);
    }

    #[test]
    fn bytes_that_were_sent_may_end_within_any_frame() {
        for cut in 1..=9 {
            let mut outbox = Outbox::default();
            for length in [4, 3, 2] {
                outbox.push(frame(length), None, 100, Overflow::Close);
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
        outbox.push(frame(3), None, 100, Overflow::Close);
        outbox.close(CloseCode::NORMAL, "");
        outbox.ping();
        outbox.pong(b"1");
        outbox.pong(b"2");
        let order: Vec<u8> = std::iter::from_fn(|| outbox.next()).map(|frame| frame[0]).collect();
        assert_eq!(order, [0x8A, 0x89, b'x', 0x88]);
    }
}
