//! Whom a record on the bus wakes.
//!
//! Must not know what a record says. Invariants: who has subscribers to a message's topic when it is published is woken for
//! it, and so is whoever a letter is for; all others read it later, before they are far behind.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::fence;

use super::index::number_of;
use super::message::{Kind, Message};
use super::places::LINK;
use super::shared::{Bus, MAIL, NEWS, PARTS};

impl Bus {
    /// Wakes those for whom the message is that begins at a position: who has subscribers, and the link.
    pub(super) fn wake_for(&self, message: &Message<'_>, at: u64) {
        let is_for_all = !matches!(message.kind, Kind::Text | Kind::Binary) || self.ends_part(NEWS, at);
        // The message is there before it is looked who has subscribers: see [`Interest`].
        fence(SeqCst);
        let places = self.interest.places(self.bucket_of(message.topic)).filter(|_| !is_for_all);
        // One bell for all is less than one for each of most of them.
        match places.filter(|places| 2 * places.clone().count() <= self.places.used()) {
            Some(places) => places.for_each(|place| self.bells.ring_own(place)),
            None => self.bells.ring_common(),
        }
        self.wake_link();
    }

    /// Wakes the reader for whom the letter is that begins at a position; with 0, all.
    pub(super) fn wake_reader(&self, to: u64, at: u64) {
        let is_alone = to != 0 && !self.ends_part(MAIL, at);
        let place = self.places.of_owner(to).filter(|place| is_alone && *place < self.bells.own());
        match place {
            _ if is_alone && to & LINK != 0 => self.wake_link(),
            Some(place) => self.bells.ring_own(place),
            None => self.wake_all(),
        }
    }

    /// Whether the record at a position is the last one of an eighth of its ring: all are woken then.
    fn ends_part(&self, ring: usize, at: u64) -> bool {
        let part = self.rings[ring].length() / PARTS;
        at / part != self.head(ring) / part
    }

    pub(super) fn wake_all(&self) {
        self.bells.ring_common();
        self.wake_link();
    }

    fn wake_link(&self) {
        if self.hosts.link() != 0 {
            self.bells.ring_link();
        }
    }

    fn bucket_of(&self, topic: &[u8]) -> u32 {
        self.interest.bucket_of(number_of(topic))
    }

    /// The worker in a place has a first subscriber to a topic. Returns the topic's bucket, and whether the worker has had
    /// subscribers to another one of it.
    pub fn note_subscribers(&self, place: usize, topic: &[u8]) -> (u32, bool) {
        let bucket = self.bucket_of(topic);
        let had = self.interest.note(place, bucket);
        // What was published before it is noted is looked for after it: see [`Interest`].
        fence(SeqCst);
        (bucket, had)
    }

    /// The worker in a place has no subscribers to a topic any more; `is_last` is called with its bucket, and tells whether
    /// there are none to another one of it.
    pub fn forget_subscribers(&self, place: usize, topic: &[u8], is_last: impl FnOnce(u32) -> bool) {
        let bucket = self.bucket_of(topic);
        if is_last(bucket) {
            self.interest.forget(place, bucket);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::sync::Barrier;

    use super::*;

    /// Which of the bells have rung: these are read here, and nowhere else.
    fn rung(bus: &Bus) -> Vec<usize> {
        let all = bus.bells.all().enumerate();
        all.filter(|(_, bell)| rustix::io::read(bell, &mut [0; 8]).is_ok()).map(|(at, _)| at).collect()
    }

    fn publish(bus: &Bus, kind: Kind, topic: &[u8]) -> Vec<usize> {
        bus.publish(&Message::new(kind, (0, 0), topic, b"hello")).unwrap();
        rung(bus)
    }

    #[test]
    fn a_message_wakes_those_who_have_subscribers_and_nobody_else() {
        const COMMON: usize = 0;
        const OWN: usize = 2;
        let bus = Bus::new(1 << 16, 4).unwrap();
        for pid in 1..=4 {
            bus.join(pid << 32, None).unwrap();
        }
        bus.note_subscribers(1, b"topic");
        bus.note_subscribers(3, b"topic");
        assert_eq!(publish(&bus, Kind::Text, b"topic"), [OWN + 1, OWN + 3]);
        assert!(publish(&bus, Kind::Text, b"another").is_empty());
        bus.forget_subscribers(3, b"topic", |_| true);
        assert_eq!(publish(&bus, Kind::Binary, b"topic"), [OWN + 1]);
        assert_eq!(publish(&bus, Kind::Joined, b"topic"), [COMMON], "all keep the roster");
        for place in 0..3 {
            bus.note_subscribers(place, b"news");
        }
        assert_eq!(publish(&bus, Kind::Text, b"news"), [COMMON], "most have subscribers");
    }

    /// As far as a run can show it: the processors decide what is seen first.
    #[test]
    fn who_subscribes_while_another_publishes_is_woken_or_sees_the_message() {
        const ROUNDS: usize = 20_000;
        let bus = Bus::new(1 << 16, 4).unwrap();
        (1..=4).for_each(|pid| assert!(bus.join(pid << 32, None).is_some()));
        let at_once = Barrier::new(2);
        let topic = |round: usize| format!("topic {round}").into_bytes();
        let mut missed = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    let topic = topic(round);
                    let message = Message::new(Kind::Text, (0, 0), &topic, b"hello");
                    at_once.wait();
                    bus.publish(&message).unwrap();
                    at_once.wait();
                }
            });
            for round in 0..ROUNDS {
                let (topic, before) = (topic(round), bus.head(NEWS));
                (0..4).for_each(|place| bus.has_read(place, NEWS, before));
                at_once.wait();
                bus.note_subscribers(0, &topic);
                let is_seen = bus.head(NEWS) != before;
                at_once.wait();
                if rung(&bus).is_empty() && !is_seen {
                    missed.push(round);
                }
            }
        });
        assert!(missed.is_empty(), "{missed:?}");
    }

    #[test]
    fn a_letter_wakes_whom_it_is_for() {
        let bus = Bus::new(1 << 16, 2).unwrap();
        (1..=2).for_each(|pid| assert!(bus.join(pid << 32, None).is_some()));
        let mail = |to| {
            bus.mail(b"a letter", to).unwrap();
            rung(&bus)
        };
        assert_eq!(mail(2 << 32), [3]);
        assert_eq!((mail(0), mail(7 << 32)), (vec![0], vec![0]), "all, and one that is not there");
        bus.hosts.become_link();
        bus.join(LINK | 3 << 32, None).unwrap();
        assert_eq!((mail(LINK | 3 << 32), mail(0)), (vec![1], vec![0, 1]));
    }

    #[test]
    fn who_has_no_subscribers_is_woken_before_it_is_far_behind() {
        let bus = Bus::new(1 << 16, 2).unwrap();
        bus.join(1 << 32, None).unwrap();
        bus.join(2 << 32, None).unwrap();
        let part = bus.rings[NEWS].length() / PARTS;
        let mut last = bus.head(NEWS);
        for _ in 0..PARTS {
            let rings = std::iter::repeat_with(|| publish(&bus, Kind::Text, b"nobody's"));
            assert!(rings.take(part as usize).any(|rung| rung == [0]));
            assert!(bus.head(NEWS) - last <= 2 * part);
            last = bus.head(NEWS);
            (0..2).for_each(|place| bus.has_read(place, NEWS, last));
        }
    }

    #[test]
    fn another_image_finds_the_bus_and_its_bells() {
        let bus = Bus::new(1 << 16, 3).unwrap();
        let copies = || bus.descriptors().into_iter().map(|fd| fd.try_clone_to_owned().unwrap()).collect();
        let adopted = Bus::adopt(copies()).unwrap();
        bus.join(1 << 32, None).unwrap();
        adopted.join(2 << 32, None).unwrap();
        adopted.note_subscribers(1, b"topic");
        assert_eq!((adopted.epoch, publish(&bus, Kind::Text, b"topic")), (bus.epoch, vec![3]));
        let mut fewer: Vec<OwnedFd> = copies();
        fewer.pop();
        assert!(Bus::adopt(fewer).is_none() && Bus::adopt(Vec::new()).is_none());
    }
}
