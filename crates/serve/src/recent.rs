//! What belongs to the paths that were asked for lately, so that most requests need no search.
//!
//! Must not know what that is. Invariants: it is told only for the path with which it was kept; it takes a fixed room, and a path
//! that does not fit is searched for each time.

use std::cell::Cell;

/// Short paths that are kept, and longer ones: a power of two, of this exponent.
const PLACES_LOG2: u32 = 6;
const PLACES: usize = 1 << PLACES_LOG2;
/// Bytes of a path that is short: it is kept and compared as one word.
const SHORT_MAX: usize = size_of::<u64>();
/// Bytes of a path that fits.
const LONG_MAX: usize = 47;

/// A short path.
struct Short<T> {
    /// The path stands at the upper end, below zeros; no path has a zero in it, so the word tells its length. 0: there is none.
    word: Cell<u64>,
    value: Cell<Option<T>>,
}

/// A longer one, of which the rest is zeros.
type Long<T> = ([u8; LONG_MAX], Option<T>);

/// The paths.
pub struct Recent<T> {
    short: [Short<T>; PLACES],
    long: [Cell<Long<T>>; PLACES],
}

impl<T: Copy> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent {
            short: std::array::from_fn(|_| Short { word: Cell::new(0), value: Cell::new(None) }),
            long: std::array::from_fn(|_| Cell::new(([0; LONG_MAX], None))),
        }
    }
}

/// A short path as a word, and where it is kept. `from` begins with it.
#[inline]
fn word_of(from: &[u8], length: usize) -> Option<(u64, usize)> {
    if length.wrapping_sub(1) >= SHORT_MAX {
        return None;
    }
    let first = from.first_chunk::<SHORT_MAX>()?;
    let word = u64::from_le_bytes(*first) << (8 * (SHORT_MAX - length));
    // Its upper half, the end of the path, decides.
    Some((word, (word.wrapping_mul(0x4f6c_dd1d) >> (u64::BITS - PLACES_LOG2)) as usize))
}

/// A path as it is kept, and where. Paths of one application differ in their lengths and at their ends.
fn text_of(path: &[u8]) -> Option<([u8; LONG_MAX], usize)> {
    let (last, middle) = (path.last()?, path[path.len() / 2]);
    let mut text = [0; LONG_MAX];
    text.get_mut(..path.len())?.copy_from_slice(path);
    Some((text, (path.len() ^ usize::from(*last) << 1 ^ usize::from(middle) << 3) % PLACES))
}

impl<T: Copy> Recent<T> {
    /// What belongs to a path, in few instructions; `None`: it is not short, or not here. `from` begins with the path.
    #[inline]
    pub fn find_short(&self, from: &[u8], length: usize) -> Option<Option<T>> {
        let (word, place) = word_of(from, length)?;
        let kept = &self.short[place];
        // Not flattened: where a word is, a value is, and nobody needs to ask.
        (kept.word.get() == word).then(|| kept.value.get())
    }

    /// What belongs to a path, if it is here.
    pub fn find(&self, path: &[u8]) -> Option<T> {
        let (text, place) = text_of(path)?;
        let (kept, value) = self.long[place].get();
        if kept == text { value } else { None }
    }

    /// Keeps what belongs to a path, in place of another one's, if it fits.
    pub fn keep(&self, path: &[u8], value: T) {
        let mut from = [0; SHORT_MAX];
        if let Some(begins) = from.get_mut(..path.len()) {
            begins.copy_from_slice(path);
            if let Some((word, place)) = word_of(&from, path.len()) {
                self.short[place].word.set(word);
                self.short[place].value.set(Some(value));
            }
        }
        // A short one, too: it is looked for here where too little follows it.
        if let Some((text, place)) = text_of(path) {
            self.long[place].set((text, Some(value)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways tell the same.
    fn find(recent: &Recent<char>, path: &[u8]) -> Option<char> {
        let (found, request) = (recent.find(path), [path, b" HTTP/1.1\r\n"].concat());
        let short = recent.find_short(&request, path.len()).flatten();
        assert_eq!(short, found.filter(|_| path.len() <= SHORT_MAX), "{path:?}");
        found
    }

    #[test]
    fn a_value_is_told_for_its_path_only() {
        let recent = Recent::default();
        assert_eq!((find(&recent, b"/"), find(&recent, b"")), (None, None));
        for length in 1..=LONG_MAX {
            let path: Vec<u8> = (0..length).map(|i| b"/abcdefghij"[i % 11]).collect();
            assert_eq!(find(&recent, &path), None, "{length}");
            recent.keep(&path, 'a');
            assert_eq!(find(&recent, &path), Some('a'), "{length}");
            for changed in 0..length {
                let mut other = path.clone();
                other[changed] = b'z';
                assert_eq!(find(&recent, &other), None, "{length}: {changed}");
            }
        }
        let long = [b'/'; LONG_MAX + 1];
        recent.keep(&long, 'b');
        recent.keep(b"", 'b');
        assert_eq!((find(&recent, &long), find(&recent, b"")), (None, None));
        recent.keep(b"/", 'c');
        assert_eq!(find(&recent, b"/"), Some('c'));
    }

    #[test]
    fn what_follows_a_path_does_not_matter() {
        let recent = Recent::default();
        recent.keep(b"/a", 'a');
        assert_eq!(recent.find_short(b"/a?b=1 HTTP/1.1", 2).flatten(), Some('a'));
        assert_eq!(recent.find_short(b"/ab HTTP/1.1", 3).flatten(), None);
        assert!(recent.find_short(b"/a", 2).is_none(), "too little follows");
    }
}
