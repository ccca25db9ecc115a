//! The topics that have subscribers, and their lists.
//!
//! Must not know what a tunnel is: it is a number here. Invariant: a topic without subscribers is forgotten.

use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use hashbrown::HashTable;

/// Bytes of a topic's name.
const NAME_BYTES_MAX: usize = 255;

/// Whether a topic can have this name: UTF-8 without control characters, because it stands in a line of text.
pub fn is_topic(name: &[u8]) -> bool {
    let is_text = std::str::from_utf8(name).is_ok_and(|name| !name.contains(char::is_control));
    (1..=NAME_BYTES_MAX).contains(&name.len()) && is_text
}

/// That a tunnel has subscribed to a topic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Membership {
    pub topic: u32,
    /// Where in the topic's list.
    pub place: u32,
}

/// A subscriber: the tunnel, and where in its own list this topic is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub tunnel: u32,
    pub place: u32,
    /// Whether messages go to it with their labels.
    pub is_labelled: bool,
}

pub(crate) struct Topic {
    pub name: Box<[u8]>,
    pub members: Vec<Member>,
}

/// Is told of a topic that has a first subscriber (`true`), or no more of them (`false`).
pub(crate) type Watch = Box<dyn Fn(&[u8], bool)>;

/// The topics that have subscribers.
#[derive(Default)]
pub(crate) struct Topics {
    pub watch: Option<Watch>,
    /// By name: only the numbers, because the names are at their places, and a million clients may have a topic each.
    numbers: HashTable<u32>,
    hasher: RandomState,
    places: Vec<Option<Topic>>,
    vacant: Vec<u32>,
}

/// What became of a subscription.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subscribed {
    /// It holds now, or held before.
    Yes,
    /// The tunnel has ended.
    Gone,
    /// It has 64 already.
    TooMany,
}

impl Topics {
    /// The number of a topic, which is made if it is not there.
    pub(crate) fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[number as usize] = Some(Topic { name: name.into(), members: Vec::new() });
        let (places, hasher) = (&self.places, &self.hasher);
        let hash_of = |number: &u32| {
            hasher.hash_one(places[*number as usize].as_ref().map_or(&[][..], |topic| &topic.name))
        };
        self.numbers.insert_unique(hasher.hash_one(name), number, hash_of);
        if let Some(watch) = &self.watch {
            watch(name, true);
        }
        number
    }

    /// The number of a topic that has subscribers.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        let is_meant = |number: &u32| self.get(*number).is_some_and(|topic| *topic.name == *name);
        self.numbers.find(self.hasher.hash_one(name), is_meant).copied()
    }

    /// The topic with this number.
    pub(crate) fn get(&self, number: u32) -> Option<&Topic> {
        self.places.get(number as usize)?.as_ref()
    }

    pub(crate) fn at(&mut self, number: u32) -> Option<&mut Topic> {
        self.places.get_mut(number as usize)?.as_mut()
    }

    /// The topics whose names begin so, and how many subscribers each has.
    pub(crate) fn with_prefix(&self, prefix: &[u8]) -> Vec<(Rc<[u8]>, usize)> {
        let topics = self.places.iter().flatten().filter(|topic| topic.name.starts_with(prefix));
        topics.map(|topic| (Rc::from(&*topic.name), topic.members.len())).collect()
    }

    /// How many topics have subscribers.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn forget_if_empty(&mut self, number: u32) {
        let is_empty = self.at(number).is_some_and(|topic| topic.members.is_empty());
        if is_empty && let Some(topic) = self.places[number as usize].take() {
            let hash = self.hasher.hash_one(&*topic.name);
            if let Ok(entry) = self.numbers.find_entry(hash, |known| *known == number) {
                entry.remove();
            }
            self.vacant.push(number);
            if let Some(watch) = &self.watch {
                watch(&topic.name, false);
            }
        }
    }
}
