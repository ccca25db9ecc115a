//! The names of messages, which clients keep and show when they come back, at whichever host.
//!
//! ```text
//!   5f3a9c01-2e0                        a message of host 5f3a9c01, which ends at 2e0 in that host's order
//!   5f3a9c01-2e0.77b01d22-1c8           ... and whoever had it delivered there had got all that 77b01d22 published up to 1c8
//!   5f3a9c01-2e0~77b01d22-410-30.…      ... delivered by host 77b01d22, in whose own order it ends at 410, and which had
//!                                       published nothing itself in the 30 before that
//!   77b01d22-410~77b01d22-410-30.…      the same, as the place of a client that has had everything up to 410
//! ```
//!
//! Must not know who is told. Invariants: up to the first `~` or `.` a name is the same on all hosts; what it says was
//! delivered was.

use super::hosts::seen_in;
use super::member::Member;
use super::message::{Message, Origin};
use super::ring::Ring;
use super::shared::NEWS;

/// Where a record ends that begins at `at`.
pub fn end_of(at: u64, record: &[u8]) -> u64 {
    at + Ring::words_of(record.len())
}

/// The name of a message that ends at `end` on the host `own`.
pub fn name_of(own: u32, end: u64, origin: Option<Origin>, seen: &[u8]) -> String {
    use std::fmt::Write;
    let mut name = match origin {
        None => format!("{own:x}-{end:x}"),
        Some(Origin { host, end: there }) => {
            let published = seen_in(seen).find(|(host, _)| *host == own).map_or(0, |(_, to)| to);
            format!("{host:x}-{there:x}~{own:x}-{end:x}-{:x}", end.saturating_sub(published))
        }
    };
    let is_named = |host| host == own || origin.is_some_and(|origin| origin.host == host);
    for (host, to) in seen_in(seen).filter(|(host, _)| !is_named(*host)) {
        // Writing to a String cannot fail.
        let _ = write!(name, ".{host:x}-{to:x}");
    }
    name
}

/// The name of this message, which ends at `end` on the host `own`.
pub fn id(own: u32, end: u64, message: &Message<'_>) -> Vec<u8> {
    name_of(own, end, message.origin, message.seen).into_bytes()
}

/// What is known to whoever has had everything that this worker has delivered so far: as the name of a message is.
pub fn position(member: &Member) -> Vec<u8> {
    let (own, at) = (member.bus.epoch, member.position(NEWS));
    // Without what is here of other hosts it claims less than it could: at another host more is sent, or it is too late.
    let seen = member.bus.seen_at(at);
    let is_alone = seen.as_ref().is_some_and(Vec::is_empty);
    // Another host has to know where this one's last message ends, which is not here.
    let origin = (!is_alone).then_some(Origin { host: own, end: at });
    name_of(own, at, origin, &seen.unwrap_or_default()).into_bytes()
}

/// What the name of a message says.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// The host that has delivered it, and where it ends there.
    pub issuer: (u32, u64),
    /// Where the last message ends that this host itself had published by then.
    pub published: u64,
    /// Up to where what each host has published was delivered.
    pub hosts: Vec<(u32, u64)>,
}

impl Known {
    /// What this name says; `None` if it is none.
    pub fn of(name: &[u8]) -> Option<Known> {
        let (first, others) = {
            let mut parts = std::str::from_utf8(name).ok()?.split('.');
            (parts.next()?, parts)
        };
        let (first, issuer) = match first.split_once('~') {
            Some((first, issuer)) => {
                let (issuer, back) = issuer.rsplit_once('-')?;
                let back = u64::from_str_radix(back, 16).ok()?;
                (part(first)?, Some((part(issuer)?, back)))
            }
            None => (part(first)?, None),
        };
        let mut hosts = vec![first];
        hosts.extend(issuer.map(|(issuer, _)| issuer));
        for other in others {
            hosts.push(part(other)?);
        }
        let (issuer, back) = issuer.unwrap_or((first, 0));
        Some(Known { issuer, published: issuer.1.saturating_sub(back), hosts })
    }

    /// Up to where what a host has published was delivered; 0 if the name does not know the host.
    pub fn to(&self, host: u32) -> u64 {
        self.hosts.iter().find(|(one, _)| *one == host).map_or(0, |(_, to)| *to)
    }
}

fn part(text: &str) -> Option<(u32, u64)> {
    let (host, to) = text.split_once('-')?;
    Some((u32::from_str_radix(host, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::hosts::SEEN_BYTES;

    #[test]
    fn a_name_says_what_was_delivered() {
        let mut seen = Vec::new();
        for (host, to) in [(0xa_u32, 0x10_u64), (0xb, 0x20), (0xc, 0x30)] {
            seen.extend(host.to_le_bytes());
            seen.extend(to.to_le_bytes());
        }
        assert_eq!(seen.len(), 3 * SEEN_BYTES);
        let own = name_of(0xa, 0x18, None, &seen);
        assert_eq!(own, "a-18.b-20.c-30");
        let known = Known::of(own.as_bytes()).unwrap();
        assert_eq!((known.issuer, known.to(0xc), known.to(0xd)), ((0xa, 0x18), 0x30, 0));
        let other = name_of(0xa, 0x28, Some(Origin { host: 0xb, end: 0x20 }), &seen);
        assert_eq!(other, "b-20~a-28-18.c-30");
        assert_eq!(
            Known::of(other.as_bytes()),
            Some(Known {
                issuer: (0xa, 0x28),
                published: 0x10,
                hosts: vec![(0xb, 0x20), (0xa, 0x28), (0xc, 0x30)]
            })
        );
        assert_eq!(name_of(0xa, 0x18, None, b""), "a-18");
        let place = name_of(0xa, 0x18, Some(Origin { host: 0xa, end: 0x18 }), &seen);
        assert_eq!(place, "a-18~a-18-8.b-20.c-30");
        let known = Known::of(place.as_bytes()).unwrap();
        assert_eq!((known.issuer, known.published, known.to(0xb)), ((0xa, 0x18), 0x10, 0x20));
        for nonsense in ["", "a", "a-", "-1", "a-1~", "a-1.b", "a-1~b-2", "a-1~b-2-3~c-3-1", "z-1", "a-1."] {
            assert_eq!(Known::of(nonsense.as_bytes()), None, "{nonsense}");
        }
    }
}
