//! What waits until the backplane takes it.
//!
//! Must not know what it says. Invariants: it has a bound in bytes, beyond which the oldest are dropped and counted; what was
//! sent is taken out only after the backplane has confirmed it.

use std::collections::VecDeque;

use bytes::Bytes;

/// Packets that are sent at once.
const BATCH: usize = 256;
/// ... and their bytes.
const BATCH_BYTES: usize = 256 * 1024;
/// What a packet costs beside its bytes.
const ITEM_BYTES: usize = 64;

/// A packet that waits.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its bytes.
    pub payload: Bytes,
    /// Whether it is a message, which the backplane keeps.
    pub is_message: bool,
    /// Up to where in the order of this host all was passed on before it.
    pub from: u64,
}

/// Packets in their order.
#[derive(Debug)]
pub struct Outbox {
    items: VecDeque<Item>,
    /// How many have left it before the first.
    left: u64,
    bytes: usize,
    bytes_max: usize,
}

impl Outbox {
    /// An empty one.
    pub fn new(bytes_max: usize) -> Outbox {
        Outbox { items: VecDeque::new(), left: 0, bytes: 0, bytes_max }
    }

    /// Takes a packet; returns how many messages were dropped for it.
    pub fn push(&mut self, item: Item) -> u64 {
        self.bytes += cost(&item);
        self.items.push_back(item);
        let mut dropped = 0;
        while self.bytes > self.bytes_max && self.items.len() > 1 {
            dropped += u64::from(self.pop().is_some_and(|item| item.is_message));
        }
        dropped
    }

    /// What is to be sent next, and the number for [`Outbox::sent`]; `None` if there is nothing.
    pub fn batch(&self) -> Option<(u64, Vec<Item>)> {
        let mut bytes = 0;
        let fits = |item: &&Item| {
            bytes += cost(item);
            bytes <= BATCH_BYTES
        };
        let mut batch: Vec<Item> = self.items.iter().take(BATCH).take_while(fits).cloned().collect();
        if batch.is_empty() {
            batch.extend(self.items.front().cloned());
        }
        (!batch.is_empty()).then_some((self.left + batch.len() as u64, batch))
    }

    /// A batch was sent, and need not be kept.
    pub fn sent(&mut self, number: u64) {
        while self.left < number && self.pop().is_some() {}
    }

    /// Up to where all was passed on; `None` if nothing waits.
    pub fn from(&self) -> Option<u64> {
        self.items.front().map(|item| item.from)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    fn pop(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes -= cost(&item);
        self.left += 1;
        Some(item)
    }
}

fn cost(item: &Item) -> usize {
    item.payload.len() + ITEM_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(from: u64, length: usize) -> Item {
        Item { payload: vec![0; length].into(), is_message: true, from }
    }

    #[test]
    fn what_was_confirmed_leaves_it_and_nothing_else() {
        let mut outbox = Outbox::new(1 << 20);
        assert!(outbox.batch().is_none());
        for from in 0..300 {
            assert_eq!(outbox.push(item(from, 10)), 0);
        }
        let (number, batch) = outbox.batch().unwrap();
        assert_eq!((number, batch.len(), outbox.len()), (256, 256, 300));
        outbox.sent(number);
        assert_eq!((outbox.from(), outbox.len()), (Some(256), 44));
        let (number, _) = outbox.batch().unwrap();
        outbox.sent(number);
        outbox.sent(number);
        assert_eq!((outbox.from(), outbox.len()), (None, 0));
    }

    #[test]
    fn beyond_its_bound_the_oldest_are_dropped_also_while_they_are_being_sent() {
        let mut outbox = Outbox::new(10 * (100 + ITEM_BYTES));
        let dropped: u64 = (0..10).map(|from| outbox.push(item(from, 100))).sum();
        assert_eq!(dropped, 0);
        let (number, _) = outbox.batch().unwrap();
        assert_eq!(outbox.push(item(10, 100)), 1);
        outbox.sent(number);
        assert_eq!(outbox.from(), Some(10), "those of the batch are gone, the new one is not");
        assert_eq!(outbox.push(item(11, 5000)), 1, "one that is larger than all room is kept alone");
        assert_eq!(outbox.batch().unwrap().1.len(), 1);
    }
}
