//! What is remembered of a tunnel outside of PHP: a few short texts by name.
//!
//! Must not know what they mean. Invariant: at most 1 KiB and 16 names.

/// Names and values of one tunnel together, in bytes.
const BYTES_MAX: usize = 1024;
/// Its names.
const COUNT_MAX: usize = 16;

/// A name and its value.
type Entry = (Box<[u8]>, Box<[u8]>);

/// A small map. Few tunnels have more than three entries, so it is searched from its start.
#[derive(Default)]
pub(crate) struct Attributes {
    entries: Vec<Entry>,
}

impl Attributes {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.entries.iter().find(|(known, _)| **known == *name).map(|(_, value)| &**value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Sets or, with `None`, removes a value. Returns false, and changes nothing, if there is no room for it.
    pub(crate) fn set(&mut self, name: &[u8], value: Option<&[u8]>) -> bool {
        let at = self.entries.iter().position(|(known, _)| **known == *name);
        let Some(value) = value else {
            if let Some(at) = at {
                self.entries.swap_remove(at);
                self.entries.shrink_to_fit();
            }
            return true;
        };
        let bytes = |(name, value): &Entry| name.len() + value.len();
        let others: usize = self
            .entries
            .iter()
            .enumerate()
            .filter(|(index, _)| Some(*index) != at)
            .map(|(_, entry)| bytes(entry))
            .sum();
        let count = self.entries.len() + usize::from(at.is_none());
        if others + name.len() + value.len() > BYTES_MAX || count > COUNT_MAX {
            return false;
        }
        match at {
            Some(at) => self.entries[at].1 = value.into(),
            None => {
                self.entries.reserve_exact(1);
                self.entries.push((name.into(), value.into()));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_set_replaced_and_removed() {
        let mut attributes = Attributes::default();
        assert!(attributes.set(b"user", Some(b"1")) && attributes.set(b"user", Some(b"42")));
        assert!(attributes.set(b"room", Some(b"")));
        assert_eq!((attributes.get(b"user"), attributes.get(b"room")), (Some(&b"42"[..]), Some(&b""[..])));
        assert!(attributes.set(b"user", None) && attributes.set(b"never", None));
        assert_eq!(attributes.get(b"user"), None);
        assert_eq!(attributes.iter().count(), 1);
    }

    #[test]
    fn there_is_room_for_a_kibibyte_and_sixteen_names() {
        let mut attributes = Attributes::default();
        assert!(attributes.set(b"a", Some(&[b'x'; 1023])));
        assert!(!attributes.set(b"b", Some(b"")));
        assert!(!attributes.set(b"a", Some(&[b'x'; 1024])));
        assert_eq!(attributes.get(b"a").map(<[u8]>::len), Some(1023));
        assert!(attributes.set(b"a", Some(b"")));
        for number in 1..16u8 {
            assert!(attributes.set(&[number], Some(b"x")));
        }
        assert!(!attributes.set(b"b", Some(b"x")) && attributes.set(b"a", Some(b"x")));
    }
}
