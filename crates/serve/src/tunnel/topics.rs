//! The topics that have subscribers, and their lists.
//!
//! Must not know what a tunnel is: it is a number here. Invariant: a topic without subscribers is forgotten.

use std::collections::HashMap;
use std::rc::Rc;

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
    pub name: Rc<[u8]>,
    pub members: Vec<Member>,
}

/// The topics that have subscribers.
#[derive(Default)]
pub(crate) struct Topics {
    numbers: HashMap<Rc<[u8]>, u32>,
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
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        let name: Rc<[u8]> = name.into();
        self.places[number as usize] = Some(Topic { name: Rc::clone(&name), members: Vec::new() });
        self.numbers.insert(name, number);
        number
    }

    /// The number of a topic that has subscribers.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        self.numbers.get(name).copied()
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
        topics.map(|topic| (Rc::clone(&topic.name), topic.members.len())).collect()
    }

    /// How many topics have subscribers.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.numbers.len()
    }

    pub(crate) fn forget_if_empty(&mut self, number: u32) {
        let is_empty = self.at(number).is_some_and(|topic| topic.members.is_empty());
        if is_empty && let Some(topic) = self.places[number as usize].take() {
            self.numbers.remove(&topic.name);
            self.vacant.push(number);
        }
    }
}
