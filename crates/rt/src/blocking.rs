//! Where calls have blocked the whole worker: the function, and the file and line of the code that made the call.
//!
//! Must not know what a function is, nor whose code it is. Invariants: one thread writes, and other processes may read while it
//! does; a place that is read was written as a whole; there are at most [`PLACES_MAX`], and calls at further ones are counted
//! together.

use std::sync::atomic::{Ordering, fence};

use crate::counter::Counter;

/// Places that are told apart. Code that blocks does so at few.
pub const PLACES_MAX: usize = 32;
/// Bytes of a file's name; of a longer one the end is kept, which tells more.
const FILE_BYTES_MAX: usize = 8 * FILE_WORDS;
const FILE_WORDS: usize = 28;

/// The places.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Blocking {
    places: [Place; PLACES_MAX],
    /// Calls at other places.
    rest: Counter,
}

#[derive(Debug, Default)]
#[repr(C)]
struct Place {
    /// The number of the function, plus 1; 0: nothing has been written here.
    function: Counter,
    count: Counter,
    line: Counter,
    file_bytes: Counter,
    file: [Counter; FILE_WORDS],
}

/// One place, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedAt {
    /// The number of the function ([`crate::hook::function_name`]).
    pub function: usize,
    /// The end of its name, if that is long; empty: no code was running that has one.
    pub file: String,
    /// 0 if there is no file.
    pub line: u64,
    /// Calls that have blocked there.
    pub count: u64,
}

impl Blocking {
    /// Counts calls of a function at a place; for the one writer.
    pub fn add(&self, function: usize, file: &[u8], line: u32, count: u64) {
        let file = &file[file.len().saturating_sub(FILE_BYTES_MAX)..];
        let (name, line) = (packed(file), u64::from(line));
        for place in &self.places {
            if place.function.get() == 0 {
                place.begin(function, (file.len(), &name), line);
            }
            if place.is(function, (file.len(), &name), line) {
                return place.count.add(count);
            }
        }
        self.rest.add(count);
    }

    /// Adds what another has counted.
    pub fn merge(&self, other: &Blocking) {
        for (place, (function, file)) in other.places.iter().map_while(|place| Some((place, place.named()?)))
        {
            self.add(function, &file, u32::try_from(place.line.get()).unwrap_or(u32::MAX), place.count.get());
        }
        self.rest.add(other.rest.get());
    }

    /// The places, in the order in which they were found.
    pub fn places(&self) -> impl Iterator<Item = BlockedAt> {
        self.places.iter().map_while(Place::read)
    }

    /// How many calls there were at other places.
    pub fn rest(&self) -> u64 {
        self.rest.get()
    }

    /// Forgets all; only while nobody writes.
    pub fn clear(&self) {
        for place in &self.places {
            place.function.set(0);
            place.count.set(0);
        }
        self.rest.set(0);
    }
}

impl Place {
    fn begin(&self, function: usize, (bytes, name): (usize, &[u64; FILE_WORDS]), line: u64) {
        self.file.iter().zip(name).for_each(|(to, word)| to.set(*word));
        self.file_bytes.set(bytes as u64);
        self.line.set(line);
        fence(Ordering::Release);
        self.function.set(function as u64 + 1);
    }

    fn is(&self, function: usize, (bytes, name): (usize, &[u64; FILE_WORDS]), line: u64) -> bool {
        self.function.get() == function as u64 + 1
            && self.line.get() == line
            && self.file_bytes.get() == bytes as u64
            && self.file.iter().zip(name).all(|(kept, word)| kept.get() == *word)
    }

    fn read(&self) -> Option<BlockedAt> {
        let (function, file) = self.named()?;
        let file = String::from_utf8_lossy(&file).into_owned();
        Some(BlockedAt { function, file, line: self.line.get(), count: self.count.get() })
    }

    /// The function and the file.
    fn named(&self) -> Option<(usize, Vec<u8>)> {
        let function = usize::try_from(self.function.get()).ok()?.checked_sub(1)?;
        fence(Ordering::Acquire);
        let mut file: Vec<u8> = self.file.iter().flat_map(|word| word.get().to_le_bytes()).collect();
        file.truncate(usize::try_from(self.file_bytes.get()).unwrap_or(0));
        Some((function, file))
    }
}

fn packed(file: &[u8]) -> [u64; FILE_WORDS] {
    let mut words = [0; FILE_WORDS];
    for (word, chunk) in words.iter_mut().zip(file.chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_le_bytes(bytes);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(function: usize, file: &str, line: u64, count: u64) -> BlockedAt {
        BlockedAt { function, file: file.to_owned(), line, count }
    }

    #[test]
    fn calls_are_counted_by_their_place() {
        let blocking = Blocking::default();
        for (function, file, line) in
            [(3, "/a.x", 7), (3, "/a.x", 8), (3, "/a.x", 7), (0, "/a.x", 7), (3, "", 0)]
        {
            blocking.add(function, file.as_bytes(), line, 1);
        }
        let all = [at(3, "/a.x", 7, 2), at(3, "/a.x", 8, 1), at(0, "/a.x", 7, 1), at(3, "", 0, 1)];
        assert_eq!(blocking.places().collect::<Vec<_>>(), all);
        let sum = Blocking::default();
        sum.add(3, b"/a.x", 8, 5);
        sum.merge(&blocking);
        assert_eq!(sum.places().next(), Some(at(3, "/a.x", 8, 6)));
        assert_eq!(sum.places().map(|place| place.count).sum::<u64>(), 10);
        blocking.clear();
        assert_eq!(blocking.places().count(), 0);
    }

    #[test]
    fn further_places_are_counted_together() {
        let blocking = Blocking::default();
        for line in 1..=PLACES_MAX as u32 + 3 {
            blocking.add(1, b"/a.x", line, 1);
        }
        assert_eq!((blocking.places().count(), blocking.rest()), (PLACES_MAX, 3));
    }

    #[test]
    fn the_end_of_a_long_name_is_kept() {
        let blocking = Blocking::default();
        let name = format!("/{}/ü.x", "x".repeat(300));
        blocking.add(1, name.as_bytes(), 1, 1);
        let kept = blocking.places().next().unwrap().file;
        assert_eq!((kept.len(), kept.ends_with("/ü.x")), (FILE_BYTES_MAX, true));
    }
}
