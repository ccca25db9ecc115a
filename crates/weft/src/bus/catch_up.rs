//! Waiting until a worker is as far as a client that comes back: the client may have heard at another worker, or at another
//! host, what is still on its way here; and until the history can be read.
//!
//! Must not know what the client has missed. Invariant: when it says yes, nothing that the client has heard is delivered to
//! it again.

use weft_rt::{MILLISECOND, Nanos, Runtime, SECOND, Wake, clock};

use super::member::Member;
use super::name::Known;
use super::post::Post;
use super::shared::NEWS;

/// How long it may take. Another host's messages come within milliseconds; in seconds when its link is replaced, as by a
/// reload; and otherwise not before the backplane is there again.
const PATIENCE: Nanos = 5 * SECOND;
/// When it looks again for the first time, and at the most: thousands may wait, when a host's clients come to another one.
const LOOK_AGAIN: Nanos = MILLISECOND;
const LOOK_EVERY: Nanos = 50 * MILLISECOND;

/// Waits until this worker has delivered all that was delivered to the client that knows the message `after`. Returns where
/// the last message of each of the topics is then ([`super::shared::Bus::lasts`]). `None` when that takes too long, the caller
/// cannot wait, or was cancelled; also when `after` is no message's id.
pub fn catch_up(post: &Post, after: &[u8], topics: &[&[u8]]) -> Option<Vec<Result<u64, u64>>> {
    let (member, known) = (post.member, Known::of(after)?);
    let (mut to, mut until, mut pause) = (None, None, LOOK_AGAIN);
    loop {
        // Where its last message is on this bus: known at once, or when the last one of another host has come.
        to = to.or_else(|| place_of(member, &known));
        let is_here = to.is_some_and(|to| !member.reads() || member.position(NEWS) >= to);
        // Another process may have the lock, and not be running.
        if let Some(lasts) = is_here.then(|| member.bus.lasts(topics)).flatten() {
            return Some(lasts);
        }
        let runtime = Runtime::get().filter(|runtime| runtime.can_park())?;
        // What comes may be for others, who alone are told of it.
        post.hear_what_is_there();
        let now = clock::now();
        if now >= *until.get_or_insert(now + PATIENCE) || runtime.sleep_until(now + pause) == Wake::Cancelled
        {
            return None;
        }
        pause = LOOK_EVERY.min(2 * pause);
    }
}

/// Where the last message of each of these topics is ([`super::shared::Bus::lasts`]), for who knows none. `None` when another
/// process has the lock for too long, the caller cannot wait for that, or was cancelled.
pub fn lasts(member: &Member, topics: &[&[u8]]) -> Option<Vec<Result<u64, u64>>> {
    let mut until = None;
    loop {
        if let Some(lasts) = member.bus.lasts(topics) {
            return Some(lasts);
        }
        let runtime = Runtime::get().filter(|runtime| runtime.can_park())?;
        let now = clock::now();
        if now >= *until.get_or_insert(now + PATIENCE)
            || runtime.sleep_until(now + LOOK_AGAIN) == Wake::Cancelled
        {
            return None;
        }
    }
}

/// Up to where this bus has what the client has heard; `None` while some of it is not here.
fn place_of(member: &Member, known: &Known) -> Option<u64> {
    let (bus, (issuer, end)) = (member.bus, known.issuer);
    if issuer == bus.epoch {
        return Some(end.min(bus.head(NEWS)));
    }
    // Hosts that are not known here are not waited for: `missed` says what becomes of those who know them.
    let is_here = |host: u32, to: u64| bus.hosts.find(host).is_none_or(|here| here.next >= to);
    let others = known.hosts.iter().filter(|(host, _)| *host != issuer);
    (is_here(issuer, known.published) && others.copied().all(|(host, to)| is_here(host, to)))
        .then(|| bus.head(NEWS))
}
