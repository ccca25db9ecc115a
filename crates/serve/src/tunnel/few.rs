//! A queue that has one element at most as a rule, and none most of the time.
//!
//! Must not know what waits in it. Invariants: first in, first out; one element alone, as a broadcast leaves it with each of many
//! tunnels, needs no memory of its own, and an empty queue keeps none.

use std::collections::VecDeque;

/// The queue.
#[derive(Debug, Default)]
pub(crate) enum Few<T> {
    #[default]
    None,
    One(T),
    #[expect(clippy::box_collection, reason = "it is rather small than fast where more wait")]
    More(Box<VecDeque<T>>),
}

impl<T> Few<T> {
    pub fn len(&self) -> usize {
        match self {
            Few::None => 0,
            Few::One(_) => 1,
            Few::More(all) => all.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        matches!(self, Few::None)
    }

    pub fn front(&self) -> Option<&T> {
        match self {
            Few::None => None,
            Few::One(first) => Some(first),
            Few::More(all) => all.front(),
        }
    }

    pub fn front_mut(&mut self) -> Option<&mut T> {
        match self {
            Few::None => None,
            Few::One(first) => Some(first),
            Few::More(all) => all.front_mut(),
        }
    }

    /// The element with so many before it.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match self {
            Few::One(first) if index == 0 => Some(first),
            Few::None | Few::One(_) => None,
            Few::More(all) => all.get_mut(index),
        }
    }

    pub fn push_back(&mut self, element: T) {
        *self = match std::mem::take(self) {
            Few::None => Few::One(element),
            Few::One(first) => Few::More(Box::new([first, element].into())),
            Few::More(mut all) => {
                all.push_back(element);
                Few::More(all)
            }
        };
    }

    pub fn pop_front(&mut self) -> Option<T> {
        match std::mem::take(self) {
            Few::None => None,
            Few::One(first) => Some(first),
            Few::More(mut all) => {
                let first = all.pop_front();
                if !all.is_empty() {
                    *self = Few::More(all);
                }
                first
            }
        }
    }

    /// Keeps those for which `keeps` says so.
    pub fn retain(&mut self, mut keeps: impl FnMut(&T) -> bool) {
        match self {
            Few::One(first) if !keeps(first) => *self = Few::None,
            Few::None | Few::One(_) => (),
            Few::More(all) => {
                all.retain(keeps);
                if all.is_empty() {
                    *self = Few::None;
                }
            }
        }
    }

    /// Whether one is like this.
    pub fn any(&self, mut is_like: impl FnMut(&T) -> bool) -> bool {
        match self {
            Few::None => false,
            Few::One(first) => is_like(first),
            Few::More(all) => all.iter().any(is_like),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_order_however_they_come_and_go() {
        let (mut few, mut expected) = (Few::default(), VecDeque::new());
        for step in 0..200_usize {
            if step * 7 % 5 < 3 - step / 100 {
                few.push_back(step);
                expected.push_back(step);
            } else {
                assert_eq!(few.pop_front(), expected.pop_front());
            }
            assert_eq!((few.front(), few.len()), (expected.front(), expected.len()));
            assert_eq!(few.front_mut(), expected.front_mut());
            for index in 0..3 {
                assert_eq!(few.get_mut(index), expected.get_mut(index));
            }
            assert_eq!(
                (few.is_empty(), few.any(|known| *known == step)),
                (expected.is_empty(), expected.contains(&step))
            );
        }
        while let Some(first) = expected.pop_front() {
            assert_eq!(few.pop_front(), Some(first));
        }
        assert!(matches!(few, Few::None));
    }

    #[test]
    fn what_is_not_kept_leaves_no_memory_behind() {
        for count in 0..4 {
            let mut few = Few::default();
            (0..count).for_each(|number| few.push_back(number));
            few.retain(|number| *number == 1);
            assert_eq!((few.front().copied(), few.len()), if count > 1 { (Some(1), 1) } else { (None, 0) });
            few.retain(|_| false);
            assert!(matches!(few, Few::None), "{count}");
        }
    }
}
