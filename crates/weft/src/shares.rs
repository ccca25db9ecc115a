//! Fair shares: how many requests of a key run at once, and where the others wait.
//!
//! A key is a path, the value of a header field or an address; a request may have several, and runs when each of them
//! has a place. It waits in the queue of one of its keys that has none, so it delays only requests of that key. Must not
//! know what a request is. Invariants: whoever waits has a key that is used up; the queue of a key is in the order of
//! arrival; all queues together have a limit; a key that no request has is forgotten.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::rc::Rc;

use weft_rt::Nanos;

/// What requests count together by: the number of a rule, and what distinguishes keys of the same rule.
pub type Key = (usize, Rc<[u8]>);

/// What becomes of a request that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival<R> {
    /// It has its places.
    Runs,
    /// It waits.
    Waits,
    /// It waits in the place of this one, which was the last of the longest queue and is forgotten.
    Displaces(R),
    /// There are too many that wait, and none of the other queues is longer.
    Refused,
}

/// The places of one key.
#[derive(Default)]
struct Share {
    running: usize,
    /// By the order of arrival.
    waiting: BTreeSet<u64>,
}

/// A request that has a place, or waits for it.
struct Entry<R> {
    request: R,
    keys: Vec<Key>,
    /// Which of its keys it waits for; `None` when it has its places.
    waits_for: Option<usize>,
    since: Nanos,
}

/// All keys of a worker, and the requests that have them.
pub struct Shares<R> {
    /// How many requests of a key run at once, by the number of the rule.
    running_max: Vec<usize>,
    queue_max: usize,
    wait_max: Nanos,
    shares: HashMap<Key, Share>,
    /// By the order of arrival.
    entries: BTreeMap<u64, Entry<R>>,
    numbers: HashMap<R, u64>,
    /// The numbers of those that wait, longest first.
    line: BTreeSet<u64>,
    /// Requests that have got their places and have not begun.
    due: VecDeque<R>,
    next: u64,
}

impl<R: Copy + Eq + Hash> Shares<R> {
    /// Of the rule with the number n, `running_max[n]` requests of a key run at once; `queue_max` wait, each for
    /// `wait_max` at most.
    pub fn new(running_max: Vec<usize>, queue_max: usize, wait_max: Nanos) -> Shares<R> {
        Shares {
            running_max,
            queue_max,
            wait_max,
            shares: HashMap::new(),
            entries: BTreeMap::new(),
            numbers: HashMap::new(),
            line: BTreeSet::new(),
            due: VecDeque::new(),
            next: 0,
        }
    }

    /// A request has arrived. One without keys is not remembered.
    pub fn arrive(&mut self, request: R, keys: Vec<Key>, now: Nanos) -> Arrival<R> {
        let waits_for = self.used_up(&keys);
        if keys.is_empty() {
            return Arrival::Runs;
        }
        let mut arrival = Arrival::Runs;
        if let Some(at) = waits_for {
            arrival = Arrival::Waits;
            if self.line.len() >= self.queue_max {
                match self.displaced(&keys[at]) {
                    Some(other) => arrival = Arrival::Displaces(other),
                    None => return Arrival::Refused,
                }
            }
        }
        let number = self.next;
        self.next += 1;
        match waits_for {
            None => self.take_places(&keys),
            Some(at) => {
                self.share(&keys[at]).waiting.insert(number);
                self.line.insert(number);
            }
        }
        self.numbers.insert(request, number);
        self.entries.insert(number, Entry { request, keys, waits_for, since: now });
        arrival
    }

    /// A request has ended, or will not begin: its places go to those that wait for them.
    pub fn ended(&mut self, request: R) {
        let Some(entry) = self.numbers.remove(&request).and_then(|number| self.take_out(number)) else {
            return;
        };
        if entry.waits_for.is_none() {
            for key in &entry.keys {
                self.share(key).running -= 1;
            }
        }
        for key in &entry.keys {
            self.admit(key);
            self.forget_unused(key);
        }
    }

    /// A request that has waited and has its places now; it counts as one that runs.
    pub fn take_due(&mut self) -> Option<R> {
        self.due.pop_front()
    }

    /// The requests that [`Shares::take_due`] has.
    pub fn due(&self) -> usize {
        self.due.len()
    }

    /// A request that has waited too long; it is forgotten.
    pub fn expired(&mut self, now: Nanos) -> Option<R> {
        let number = self.line.first()?;
        let entry =
            self.entries.get(number).filter(|entry| entry.since.saturating_add(self.wait_max) <= now)?;
        let request = entry.request;
        self.ended(request);
        Some(request)
    }

    /// When there is something to do.
    pub fn deadline(&self) -> Option<Nanos> {
        if !self.due.is_empty() {
            return Some(0);
        }
        let number = self.line.first()?;
        Some(self.entries.get(number)?.since.saturating_add(self.wait_max))
    }

    /// The requests that wait, longest first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = R> {
        self.line.iter().map(|number| self.entries[number].request)
    }

    /// Keys that some request has.
    #[cfg(test)]
    fn keys(&self) -> usize {
        self.shares.len()
    }

    /// The first key that has no place; `None` if all have one.
    fn used_up(&self, keys: &[Key]) -> Option<usize> {
        let is_used_up =
            |key: &Key| self.shares.get(key).is_some_and(|share| share.running >= self.running_max[key.0]);
        keys.iter().position(is_used_up)
    }

    fn share(&mut self, key: &Key) -> &mut Share {
        self.shares.entry(key.clone()).or_default()
    }

    fn take_places(&mut self, keys: &[Key]) {
        for key in keys {
            self.share(key).running += 1;
        }
    }

    /// The last of the longest queue leaves for one of `key`, unless that would have the longest then.
    fn displaced(&mut self, key: &Key) -> Option<R> {
        let own = self.shares.get(key).map_or(0, |share| share.waiting.len());
        let longest = self.shares.values().max_by_key(|share| share.waiting.len())?;
        let number = longest.waiting.last().filter(|_| longest.waiting.len() > own + 1)?;
        let request = self.entries[number].request;
        self.ended(request);
        Some(request)
    }

    /// Removes an entry, and what waits of it.
    fn take_out(&mut self, number: u64) -> Option<Entry<R>> {
        let entry = self.entries.remove(&number)?;
        if let Some(at) = entry.waits_for {
            self.line.remove(&number);
            self.share(&entry.keys[at]).waiting.remove(&number);
        }
        Some(entry)
    }

    /// Gives the places of a key to those that wait for it. Who has them, but lacks those of another key, waits for that
    /// one from here on, in the order of arrival.
    fn admit(&mut self, key: &Key) {
        while let Some(share) =
            self.shares.get_mut(key).filter(|share| share.running < self.running_max[key.0])
        {
            let Some(number) = share.waiting.pop_first() else { return };
            let Some(mut entry) = self.entries.remove(&number) else { continue };
            entry.waits_for = self.used_up(&entry.keys);
            match entry.waits_for {
                Some(at) => {
                    self.share(&entry.keys[at]).waiting.insert(number);
                }
                None => {
                    self.take_places(&entry.keys);
                    self.line.remove(&number);
                    self.due.push_back(entry.request);
                }
            }
            self.entries.insert(number, entry);
        }
    }

    fn forget_unused(&mut self, key: &Key) {
        if self.shares.get(key).is_some_and(|share| share.running == 0 && share.waiting.is_empty()) {
            self.shares.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::{Arrival, Key, Shares};

    /// Keys by their rule and a letter.
    fn keys(names: &[(usize, &str)]) -> Vec<Key> {
        names.iter().map(|(rule, name)| (*rule, Rc::from(name.as_bytes()))).collect()
    }

    fn all_due(shares: &mut Shares<u32>) -> Vec<u32> {
        std::iter::from_fn(|| shares.take_due()).collect()
    }

    #[test]
    fn each_key_has_its_places_and_its_queue() {
        let mut shares = Shares::new(vec![2], 10, 100);
        let a = || keys(&[(0, "a")]);
        assert_eq!([1, 2].map(|request| shares.arrive(request, a(), 0)), [Arrival::Runs; 2]);
        assert_eq!([3, 4, 5].map(|request| shares.arrive(request, a(), 1)), [Arrival::Waits; 3]);
        assert_eq!(shares.arrive(6, keys(&[(0, "b")]), 1), Arrival::Runs, "another key has its own places");
        assert_eq!(shares.arrive(7, Vec::new(), 1), Arrival::Runs, "no key, no bound");
        shares.ended(2);
        assert_eq!((shares.deadline(), all_due(&mut shares)), (Some(0), vec![3]), "in the order of arrival");
        shares.ended(4); // gone while it waited
        shares.ended(1);
        assert_eq!((all_due(&mut shares), shares.waiting().len()), (vec![5], 0));
        for request in [3, 5, 6, 7] {
            shares.ended(request);
        }
        assert_eq!((shares.keys(), shares.entries.len(), shares.numbers.len()), (0, 0, 0), "nothing is kept");
    }

    #[test]
    fn a_request_of_two_keys_holds_no_place_of_one_while_it_waits_for_the_other() {
        let mut shares = Shares::new(vec![1, 2], 10, 100);
        let (report, page) = (keys(&[(0, "report"), (1, "ada")]), keys(&[(1, "ada")]));
        assert_eq!(shares.arrive(1, report.clone(), 0), Arrival::Runs);
        assert_eq!(shares.arrive(2, report.clone(), 0), Arrival::Waits, "it waits for the report");
        assert_eq!(shares.arrive(3, page.clone(), 0), Arrival::Runs, "and takes nothing of Ada's");
        assert_eq!(shares.arrive(4, page.clone(), 0), Arrival::Waits);
        shares.ended(1);
        assert_eq!(all_due(&mut shares), [2], "who came first begins first");
        let other = keys(&[(0, "report"), (1, "bob")]);
        assert_eq!(shares.arrive(5, other, 0), Arrival::Waits);
        assert_eq!(shares.arrive(6, report, 0), Arrival::Waits);
        shares.ended(2);
        assert_eq!(all_due(&mut shares), [5, 4], "nobody waits whose keys have places");
        shares.ended(5);
        assert_eq!(all_due(&mut shares), [0; 0], "the last one lacks a place of Ada's");
        shares.ended(3);
        assert_eq!(all_due(&mut shares), [6]);
        shares.ended(4);
        shares.ended(6);
        assert_eq!(shares.keys(), 0);
    }

    #[test]
    fn the_longest_queue_gives_way_when_too_many_wait() {
        let mut shares = Shares::new(vec![1], 3, 100);
        for request in 1..=4 {
            shares.arrive(request, keys(&[(0, "a")]), 0);
        }
        assert_eq!(shares.arrive(5, keys(&[(0, "a")]), 0), Arrival::Refused);
        assert_eq!(shares.arrive(6, keys(&[(0, "b")]), 0), Arrival::Runs);
        assert_eq!(shares.arrive(7, keys(&[(0, "b")]), 0), Arrival::Displaces(4));
        assert_eq!(shares.arrive(8, keys(&[(0, "b")]), 0), Arrival::Refused, "two of one, one of the other");
        assert_eq!(shares.waiting().collect::<Vec<_>>(), [2, 3, 7]);
        let mut none = Shares::new(vec![1], 0, 100);
        none.arrive(1, keys(&[(0, "a")]), 0);
        assert_eq!(none.arrive(2, keys(&[(0, "a")]), 0), Arrival::Refused, "without a queue nobody waits");
    }

    #[test]
    fn who_waits_too_long_is_forgotten() {
        let mut shares = Shares::new(vec![1], 10, 100);
        for (request, now) in [(1, 0), (2, 10), (3, 20)] {
            shares.arrive(request, keys(&[(0, "a")]), now);
        }
        assert_eq!((shares.deadline(), shares.expired(109)), (Some(110), None));
        assert_eq!((shares.expired(110), shares.expired(110), shares.deadline()), (Some(2), None, Some(120)));
        shares.ended(1);
        assert_eq!((all_due(&mut shares), shares.deadline()), (vec![3], None));
    }
}
