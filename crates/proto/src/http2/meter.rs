//! How many frames a peer may send that cost it nothing and bring nobody forward.
//!
//! It reads only the nine bytes before each frame, and PRIORITY_UPDATE, which h2 skips. h2 answers PING and SETTINGS, forgets streams that are reset and skips
//! what it does not know; each is cheap, but a peer could send millions. Must not know what the frames say. Invariant: a
//! peer has [`TOKENS_MAX`] tokens and gets [`TOKENS_PER_SECOND`] new ones; requests and bytes of bodies earn some. A peer
//! without tokens is cut off.

/// Nanoseconds since any moment.
type Nanos = u64;
const SECOND: Nanos = 1_000_000_000;
const TOKENS_MAX: u64 = 4_000;
const TOKENS_PER_SECOND: u64 = 1_000;
/// What a stream costs that its client gives up: it may have begun to be answered.
const RESET: u64 = 10;
/// What a request earns.
const REQUEST: u64 = 4;
/// Bytes of answers for which a peer may open its windows once.
const BYTES_PER_TOKEN: u64 = 1024;

/// RFC 9218 section 7.1.
const PRIORITY_UPDATE: u8 = 0x10;
/// A stream, and a field that says two things.
const UPDATE_BYTES: std::ops::RangeInclusive<usize> = 4..=64;
/// Those that are kept until the streams hear of them.
const UPDATES_MAX: usize = 64;

/// One peer's tokens, and where in its frames it is.
pub struct Meter {
    tokens: u64,
    filled: Nanos,
    /// Bytes of the preface and of the present frame that are still to come.
    skip: usize,
    header: [u8; 9],
    held: usize,
    sent: u64,
    /// The PRIORITY_UPDATE that is arriving.
    update: Option<Vec<u8>>,
    /// Those that have come: a stream, and the value of the field that it stands for.
    pub updates: Vec<(u32, Vec<u8>)>,
}

impl Meter {
    /// The meter of a connection of which nothing has been read.
    pub fn new(now: Nanos) -> Meter {
        let skip = super::PREFACE.len();
        Meter {
            tokens: TOKENS_MAX,
            filled: now,
            skip,
            header: [0; 9],
            held: 0,
            sent: 0,
            update: None,
            updates: Vec::new(),
        }
    }

    /// Counts the frames in these bytes; returns whether the peer still has tokens.
    pub fn pass(&mut self, mut bytes: &[u8], now: Nanos) -> bool {
        let new = now.saturating_sub(self.filled).saturating_mul(TOKENS_PER_SECOND) / SECOND;
        if new > 0 {
            (self.tokens, self.filled) = (TOKENS_MAX.min(self.tokens.saturating_add(new)), now);
        }
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            if self.update.is_some() {
                self.take_update(&bytes[..skipped]);
            }
            bytes = &bytes[skipped..];
            let taken = bytes.len().min(self.header.len() - self.held);
            self.header[self.held..self.held + taken].copy_from_slice(&bytes[..taken]);
            self.held += taken;
            bytes = &bytes[taken..];
            if self.held == self.header.len() {
                self.held = 0;
                if !self.frame() {
                    return false;
                }
            }
        }
        true
    }

    /// A frame's header is complete.
    fn frame(&mut self) -> bool {
        let length = u32::from_be_bytes([0, self.header[0], self.header[1], self.header[2]]) as usize;
        self.skip = length;
        self.update = (self.header[3] == PRIORITY_UPDATE && UPDATE_BYTES.contains(&length)).then(Vec::new);
        let cost = match self.header[3] {
            // HEADERS.
            1 => {
                self.tokens = TOKENS_MAX.min(self.tokens + REQUEST);
                0
            }
            // DATA that brings something; CONTINUATION, which h2 counts.
            0 if length > 0 => 0,
            9 => 0,
            3 => RESET,
            _ => 1,
        };
        match self.tokens.checked_sub(cost) {
            Some(left) => self.tokens = left,
            None => return false,
        }
        true
    }

    /// Bytes of a PRIORITY_UPDATE (RFC 9218 section 7.1): the number of a stream, and the field's value.
    fn take_update(&mut self, bytes: &[u8]) {
        let Some(update) = &mut self.update else { return };
        update.extend_from_slice(bytes);
        if self.skip > 0 {
            return;
        }
        if let Some((stream, field)) = self.update.take().unwrap_or_default().split_first_chunk::<4>()
            && self.updates.len() < UPDATES_MAX
        {
            self.updates.push((u32::from_be_bytes(*stream) & 0x7fff_ffff, field.to_vec()));
        }
    }

    /// So many bytes were sent to the peer, for which it opens its windows.
    pub fn sent(&mut self, count: usize) {
        self.sent += count as u64;
        self.tokens = TOKENS_MAX.min(self.tokens + self.sent / BYTES_PER_TOKEN);
        self.sent %= BYTES_PER_TOKEN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, 0, 0, 0, 0, 1];
        frame.resize(9 + usize::from(length), 0);
        frame
    }

    #[test]
    fn frames_are_counted_wherever_they_are_split() {
        for piece in [1, 2, 7, 9, 17, 4096] {
            let mut bytes = super::super::PREFACE.to_vec();
            bytes.extend((0..TOKENS_MAX).flat_map(|_| frame(6, 8)));
            let mut meter = Meter::new(0);
            assert!(bytes.chunks(piece).all(|piece| meter.pass(piece, 0)));
            assert!(meter.pass(&frame(0, 3), 0) && meter.pass(&frame(9, 3), 0), "these are free");
            assert!(!meter.pass(&frame(6, 8), 0));
            assert!(meter.pass(&frame(6, 8), SECOND), "tokens come back");
        }
    }

    #[test]
    fn priorities_are_read_wherever_they_are_split() {
        let update = [&[0, 0, 9, PRIORITY_UPDATE, 0, 0, 0, 0, 0, 0, 0, 0, 5][..], b"u=1,i"].concat();
        let long = [&[0, 0, 70, PRIORITY_UPDATE, 0, 0, 0, 0, 0][..], &[0; 70]].concat();
        let bytes = [&update[..], &frame(6, 8), &long, &update].concat();
        for piece in 1..bytes.len() {
            let mut meter = Meter::new(0);
            meter.skip = 0;
            assert!(bytes.chunks(piece).all(|piece| meter.pass(piece, 0)));
            assert_eq!(meter.updates, vec![(5, b"u=1,i".to_vec()); 2], "{piece}");
        }
    }

    #[test]
    fn resets_cost_most_of_what_requests_earn() {
        let mut meter = Meter::new(0);
        meter.skip = 0;
        let both: Vec<u8> = [frame(1, 5), frame(3, 4)].concat();
        let passed = (0..10_000).take_while(|_| meter.pass(&both, 0)).count() as u64;
        assert_eq!(passed, (TOKENS_MAX - REQUEST) / (RESET - REQUEST));
    }
}
