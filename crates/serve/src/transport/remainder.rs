//! Bytes that found no room yet, taken from the front.
//!
//! Must not know where they go. Invariant: when the last one is taken, none of the memory stays.

/// What is left of a piece.
#[derive(Default)]
pub(super) struct Remainder {
    bytes: Vec<u8>,
    /// How many of them have been taken.
    taken: usize,
}

impl Remainder {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The first `count` bytes are done with.
    pub(super) fn consume(&mut self, count: usize) {
        self.taken += count;
        if self.taken == self.bytes.len() {
            *self = Remainder::default();
        }
    }

    /// Moves as many bytes as fit into `buffer`, and returns how many.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.as_slice().len());
        buffer[..count].copy_from_slice(&self.as_slice()[..count]);
        self.consume(count);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::Remainder;

    #[test]
    fn bytes_leave_in_order_and_with_the_last_one_their_memory() {
        let mut remainder = Remainder::default();
        remainder.push(b"ab");
        remainder.push(b"cde");
        let mut buffer = [0; 3];
        assert_eq!((remainder.read(&mut buffer), &buffer), (3, b"abc"));
        remainder.push(b"f");
        assert_eq!(remainder.as_slice(), b"def");
        assert_eq!((remainder.read(&mut buffer), &buffer), (3, b"def"));
        assert!(remainder.is_empty());
        assert_eq!(remainder.bytes.capacity(), 0);
    }
}
