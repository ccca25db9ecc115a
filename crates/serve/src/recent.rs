//! The marks of paths that were asked for lately, so that most requests need no search.
//!
//! Must not know how a mark is found. Invariants: a mark is told only for the path with which it was kept; it takes a fixed
//! room, and a path that does not fit is searched for each time.

use std::cell::Cell;

/// Paths that are kept; a power of two.
const PLACES: usize = 64;
/// Bytes of a path that fits.
const BYTES_MAX: usize = 29;

#[derive(Clone, Copy)]
struct Entry {
    /// 0 if there is none: no path is empty.
    length: u8,
    path: [u8; BYTES_MAX],
    mark: u16,
}

/// The paths.
pub struct Recent([Cell<Entry>; PLACES]);

impl Default for Recent {
    fn default() -> Recent {
        Recent(std::array::from_fn(|_| Cell::new(Entry { length: 0, path: [0; BYTES_MAX], mark: 0 })))
    }
}

/// The place of a path that fits. Paths of one application differ in their lengths and at their ends.
#[inline]
fn place_of(path: &[u8]) -> usize {
    let (middle, last) = (path[path.len() / 2], path[path.len() - 1]);
    (path.len() ^ usize::from(last) << 1 ^ usize::from(middle) << 3) % PLACES
}

impl Recent {
    /// The mark of a path, if it is here.
    #[inline]
    pub fn mark_of(&self, path: &[u8]) -> Option<u16> {
        if path.is_empty() || path.len() > BYTES_MAX {
            return None;
        }
        let entry = self.0[place_of(path)].get();
        let is_it = usize::from(entry.length) == path.len() && entry.path[..path.len()] == *path;
        is_it.then_some(entry.mark)
    }

    /// Keeps the mark of a path, in place of another one's, if it fits.
    pub fn keep(&self, path: &[u8], mark: u16) {
        if path.is_empty() || path.len() > BYTES_MAX {
            return;
        }
        let mut entry = Entry { length: path.len() as u8, path: [0; BYTES_MAX], mark };
        entry.path[..path.len()].copy_from_slice(path);
        self.0[place_of(path)].set(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_told_for_its_path_only() {
        let recent = Recent::default();
        assert_eq!((recent.mark_of(b"/"), recent.mark_of(b"")), (None, None));
        let long = [b'/'; BYTES_MAX + 1];
        for (path, mark) in [(&b"/"[..], 1), (b"/a/b", 2), (&long[..BYTES_MAX], 3)] {
            recent.keep(path, mark);
            assert_eq!(recent.mark_of(path), Some(mark));
        }
        // The same place, another path.
        assert_eq!((place_of(b"/a/b"), recent.mark_of(b"/c/b")), (place_of(b"/c/b"), None));
        recent.keep(b"/c/b", 4);
        assert_eq!((recent.mark_of(b"/c/b"), recent.mark_of(b"/a/b")), (Some(4), None));
        recent.keep(&long, 5);
        recent.keep(b"", 5);
        assert_eq!((recent.mark_of(&long), recent.mark_of(b"")), (None, None));
    }
}
