//! Which tunnels of this worker get what is published.
//!
//! Must not know how a message is framed or sent. Invariant: a tunnel's list and a topic's list name each other at the
//! positions that they record, so that joining and leaving take the same time whatever the numbers are.

use std::rc::Rc;

use crate::keys::TunnelKey;
use crate::tunnel::Tunnel;
use crate::tunnel::topics::{Member, Membership, Subscribed};
use crate::tunnel::tunnels::Tunnels;

/// Topics of one tunnel.
const PER_TUNNEL_MAX: usize = 64;

impl Tunnels {
    /// Subscribes a tunnel whose connection has not ended; one that has subscribed may change whether it wants labels.
    pub(crate) fn subscribe(&mut self, key: TunnelKey, name: &[u8], is_labelled: bool) -> Subscribed {
        let number = self.topics.find(name);
        let Some(tunnel) = self.get_mut(key).filter(|tunnel| tunnel.connection.is_some()) else {
            return Subscribed::Gone;
        };
        let joined = tunnel.topics.iter().find(|joined| Some(joined.topic) == number).copied();
        if let Some(joined) = joined {
            if let Some(topic) = self.topics.at(joined.topic) {
                topic.members[joined.place as usize].is_labelled = is_labelled;
            }
            return Subscribed::Yes;
        }
        if tunnel.topics.len() >= PER_TUNNEL_MAX {
            return Subscribed::TooMany;
        }
        let own_place = tunnel.topics.len() as u32;
        let number = self.topics.number(name);
        let Some(topic) = self.topics.at(number) else { return Subscribed::Gone };
        let place = topic.members.len() as u32;
        if place == 0 {
            topic.members.reserve_exact(1); // many topics are one client's own
        }
        topic.members.push(Member { tunnel: key.0 as u32, place: own_place, is_labelled });
        if let Some(tunnel) = self.get_mut(key) {
            tunnel.topics.reserve_exact(1);
            tunnel.topics.push(Membership { topic: number, place });
        }
        Subscribed::Yes
    }

    /// Ends a subscription; returns whether there was one.
    pub(crate) fn unsubscribe(&mut self, key: TunnelKey, name: &[u8]) -> bool {
        let Some(number) = self.topics.find(name) else { return false };
        let joined = |tunnel: &Tunnel| tunnel.topics.iter().position(|joined| joined.topic == number);
        let Some(own_place) = self.get(key).and_then(joined) else { return false };
        self.leave(key, own_place);
        true
    }

    /// Ends all subscriptions of a tunnel.
    pub(crate) fn unsubscribe_all(&mut self, key: TunnelKey) {
        while let Some(last) = self.get(key).and_then(|tunnel| tunnel.topics.len().checked_sub(1)) {
            self.leave(key, last);
        }
    }

    fn leave(&mut self, key: TunnelKey, own_place: usize) {
        let Some(tunnel) = self.get_mut(key) else { return };
        let left = tunnel.topics.swap_remove(own_place);
        let moved_here = tunnel.topics.get(own_place).copied();
        // The one that has taken the place in the tunnel's list.
        if let Some(moved) = moved_here
            && let Some(topic) = self.topics.at(moved.topic)
        {
            topic.members[moved.place as usize].place = own_place as u32;
        }
        let Some(topic) = self.topics.at(left.topic) else { return };
        topic.members.swap_remove(left.place as usize);
        // The one that has taken the place in the topic's list.
        if let Some(member) = topic.members.get(left.place as usize).copied()
            && let Some(tunnel) = self.at(member.tunnel)
        {
            tunnel.topics[member.place as usize].place = left.place;
        }
        self.topics.forget_if_empty(left.topic);
    }

    /// A topic's subscribers.
    pub(crate) fn members(&self, name: &[u8]) -> Vec<Member> {
        let topic = self.topics.find(name).and_then(|number| self.topics.get(number));
        topic.map_or_else(Vec::new, |topic| topic.members.clone())
    }

    /// Whether a tunnel has subscribed to a topic.
    pub(crate) fn has_subscribed(&self, key: TunnelKey, name: &[u8]) -> bool {
        let number = self.topics.find(name);
        number.is_some_and(|number| {
            self.get(key).is_some_and(|tunnel| tunnel.topics.iter().any(|of| of.topic == number))
        })
    }

    /// The names of a tunnel's topics.
    pub(crate) fn topics_of(&self, key: TunnelKey) -> Vec<Rc<[u8]>> {
        let joined = self.get(key).map_or(&[][..], |tunnel| &tunnel.topics);
        let topic = |joined: &Membership| self.topics.get(joined.topic);
        joined.iter().filter_map(topic).map(|topic| Rc::from(&*topic.name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::outbox::Overflow;

    fn tunnels(count: u32) -> (Tunnels, Vec<TunnelKey>) {
        let mut tunnels = Tunnels::default();
        let open =
            |connection| Tunnel { connection: Some(connection), ..Tunnel::new(0, Overflow::Close, 100, 0) };
        let keys = (0..count).map(|connection| tunnels.insert(open(connection))).collect();
        (tunnels, keys)
    }

    fn check(tunnels: &Tunnels, keys: &[TunnelKey], joined: &[(usize, u8)]) {
        for topic in 0..8u8 {
            let mut members: Vec<u32> =
                tunnels.members(&[topic]).iter().map(|member| member.tunnel).collect();
            members.sort_unstable();
            let mut expected: Vec<u32> =
                joined.iter().filter(|(_, of)| *of == topic).map(|(at, _)| keys[*at].0 as u32).collect();
            expected.sort_unstable();
            assert_eq!(members, expected, "topic {topic}");
        }
        for (at, key) in keys.iter().enumerate() {
            let mut names: Vec<u8> = tunnels.topics_of(*key).iter().map(|name| name[0]).collect();
            names.sort_unstable();
            let mut expected: Vec<u8> =
                joined.iter().filter(|(of, _)| *of == at).map(|(_, topic)| *topic).collect();
            expected.sort_unstable();
            assert_eq!(names, expected, "tunnel {at}");
        }
    }

    #[test]
    fn both_lists_agree_whatever_joins_and_leaves() {
        let (mut tunnels, keys) = tunnels(7);
        let mut joined: Vec<(usize, u8)> = Vec::new();
        let mut random = 12345u64;
        for _ in 0..2_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (at, topic) = ((random >> 33) as usize % keys.len(), (random >> 50) as u8 % 8);
            let had = joined.iter().position(|one| *one == (at, topic));
            if random >> 62 == 0 {
                assert_eq!(tunnels.unsubscribe(keys[at], &[topic]), had.is_some());
                had.map(|position| joined.swap_remove(position));
            } else {
                assert_eq!(tunnels.subscribe(keys[at], &[topic], false), Subscribed::Yes);
                if had.is_none() {
                    joined.push((at, topic));
                }
            }
            check(&tunnels, &keys, &joined);
        }
        for key in &keys {
            tunnels.remove(*key);
        }
        assert!(tunnels.topics.count() == 0 && tunnels.count() == 0);
    }

    #[test]
    fn a_tunnel_has_at_most_64_topics_and_none_after_its_end() {
        let (mut tunnels, keys) = tunnels(1);
        for topic in 0..64u8 {
            assert_eq!(tunnels.subscribe(keys[0], &[topic], false), Subscribed::Yes);
        }
        assert_eq!(tunnels.subscribe(keys[0], b"other", false), Subscribed::TooMany);
        assert_eq!(tunnels.topics.find(b"other"), None);
        tunnels.remove(keys[0]);
        assert_eq!(tunnels.subscribe(keys[0], b"x", false), Subscribed::Gone);
    }
}
