//! The names of routes, in memory that all workers share: a route has one number in all of them.
//!
//! Must not know what is counted of a route. Invariants: a name that was added stays, with its number; two workers that add
//! the same name at once do not add it twice.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// Routes that are counted apart, and [`OTHER`].
pub const ROUTES: usize = 128;
/// Bytes of a name; longer ones are counted with the others.
pub const NAME_BYTES_MAX: usize = 96;
/// The number of the route of all requests that have none of their own.
pub const OTHER: usize = 0;

/// The table.
#[derive(Debug)]
#[repr(transparent)]
pub struct Names([Name; ROUTES - 1]);

#[derive(Debug)]
#[repr(C)]
struct Name {
    /// [`FREE`], [`WRITING`], or the length of the name.
    state: AtomicU32,
    bytes: [AtomicU8; NAME_BYTES_MAX],
}

const FREE: u32 = 0;
const WRITING: u32 = u32::MAX;

impl Default for Names {
    fn default() -> Names {
        let bytes = || std::array::from_fn(|_| AtomicU8::new(0));
        Names(std::array::from_fn(|_| Name { state: AtomicU32::new(FREE), bytes: bytes() }))
    }
}

impl Name {
    fn is(&self, name: &[u8]) -> bool {
        self.state.load(Ordering::Acquire) as usize == name.len()
            && self.bytes.iter().zip(name).all(|(kept, byte)| kept.load(Ordering::Relaxed) == *byte)
    }
}

impl Names {
    /// The number of a route, if it is in the table.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        let known = self.0.iter().take_while(|kept| kept.state.load(Ordering::Acquire) != FREE);
        known.enumerate().find(|(_, kept)| kept.is(name)).map(|(index, _)| index + 1)
    }

    /// The number of a route, which is added if there is room. While another worker adds one there is none.
    pub fn add(&self, name: &[u8]) -> Option<usize> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return None;
        }
        if let Some(number) = self.find(name) {
            return Some(number);
        }
        // Up to the free place all names are known to be others, so none is added twice.
        let free =
            self.0.iter().position(|kept| matches!(kept.state.load(Ordering::Acquire), FREE | WRITING))?;
        let place = &self.0[free];
        place.state.compare_exchange(FREE, WRITING, Ordering::AcqRel, Ordering::Acquire).ok()?;
        if let Some(number) = self.find(name) {
            // Another worker has added it meanwhile, further to the front.
            place.state.store(FREE, Ordering::Release);
            return Some(number);
        }
        place.bytes.iter().zip(name).for_each(|(kept, byte)| kept.store(*byte, Ordering::Relaxed));
        place.state.store(name.len() as u32, Ordering::Release);
        Some(free + 1)
    }

    /// The name of a route.
    pub fn get(&self, number: usize) -> Option<String> {
        let Some(kept) = number.checked_sub(1).map(|index| self.0.get(index)) else {
            return Some("other".to_owned());
        };
        let kept = kept?;
        let length = match kept.state.load(Ordering::Acquire) {
            FREE | WRITING => return None,
            length => length as usize,
        };
        let bytes = kept.bytes.iter().take(length).map(|byte| byte.load(Ordering::Relaxed)).collect();
        String::from_utf8(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number() {
        let names = Names::default();
        assert_eq!(names.get(OTHER).as_deref(), Some("other"));
        assert_eq!((names.find(b"/a"), names.get(1)), (None, None));
        assert_eq!((names.add(b"/a"), names.add(b"/b"), names.add(b"/a")), (Some(1), Some(2), Some(1)));
        assert_eq!((names.find(b"/b"), names.get(2).as_deref()), (Some(2), Some("/b")));
        assert_eq!((names.add(b""), names.add(&[b'x'; NAME_BYTES_MAX + 1])), (None, None));
    }

    #[test]
    fn a_full_table_takes_no_more() {
        let names = Names::default();
        let added = (0..2 * ROUTES).filter_map(|i| names.add(format!("/{i}").as_bytes())).count();
        assert_eq!(added, ROUTES - 1);
        assert_eq!((names.add(b"/0"), names.add(b"/new")), (Some(1), None));
    }

    #[test]
    fn who_adds_at_once_adds_no_name_twice() {
        let names = Names::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for i in 0..100 {
                        let name = format!("/{i}");
                        while names.add(name.as_bytes()).is_none() {}
                    }
                });
            }
        });
        let mut all: Vec<_> = (1..ROUTES).filter_map(|number| names.get(number)).collect();
        assert_eq!(all.len(), 100, "{all:?}");
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100);
    }
}
