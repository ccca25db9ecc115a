//! What is remembered of a tunnel outside of PHP: a few short texts by name.
//!
//! Must not know what they mean. Invariant: at most 1 KiB and 16 names.

/// Names and values of one tunnel together, in bytes.
const BYTES_MAX: usize = 1024;
/// Its names.
const COUNT_MAX: usize = 16;

/// Before each name: the bytes of the name, and those of the value, as two numbers of two bytes.
const HEAD_BYTES: usize = 4;

/// A small map, in one piece of memory: each would cost more than most names and values have bytes. Few tunnels have more
/// than three entries, so it is searched from its start.
#[derive(Default)]
pub(crate) struct Attributes {
    entries: Box<[u8]>,
}

impl Attributes {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = &*self.entries;
        std::iter::from_fn(move || {
            let (head, after) = rest.split_at_checked(HEAD_BYTES)?;
            let [name, value] = [0, 2].map(|at| usize::from(u16::from_le_bytes([head[at], head[at + 1]])));
            let (name, after) = after.split_at_checked(name)?;
            let (value, after) = after.split_at_checked(value)?;
            rest = after;
            Some((name, value))
        })
    }

    /// Sets or, with `None`, removes a value. Returns false, and changes nothing, if there is no room for it.
    pub(crate) fn set(&mut self, name: &[u8], value: Option<&[u8]>) -> bool {
        let mut entries: Vec<(&[u8], &[u8])> = self.iter().collect();
        let at = entries.iter().position(|(known, _)| *known == name);
        match (at, value) {
            (Some(at), Some(value)) => entries[at].1 = value,
            (None, Some(value)) => entries.push((name, value)),
            (Some(at), None) => drop(entries.remove(at)),
            (None, None) => return true,
        }
        let bytes: usize = entries.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > BYTES_MAX || entries.len() > COUNT_MAX {
            return false;
        }
        let mut packed = Vec::with_capacity(bytes + entries.len() * HEAD_BYTES);
        for (name, value) in entries {
            // Neither is longer than BYTES_MAX.
            packed.extend_from_slice(&(name.len() as u16).to_le_bytes());
            packed.extend_from_slice(&(value.len() as u16).to_le_bytes());
            packed.extend_from_slice(name);
            packed.extend_from_slice(value);
        }
        self.entries = packed.into_boxed_slice();
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
