//! What all workers are like inside: the sums of what each one tells.
//!
//! Must not know how they are shown. Invariant: a sum is of one snapshot.

use weft_serve::ConnectionState;

use super::insides::{Insides, STATES};
use super::snapshot::Snapshot;

/// How many connections are in each state.
pub fn connections(seen: &Snapshot) -> [(&'static str, usize); STATES] {
    states(seen, |own| &own.connections)
}

/// The same of the streams of HTTP/2 connections.
pub fn streams(seen: &Snapshot) -> [(&'static str, usize); STATES] {
    states(seen, |own| &own.streams)
}

fn states(seen: &Snapshot, of: fn(&Insides) -> &[usize; STATES]) -> [(&'static str, usize); STATES] {
    ConnectionState::ALL.map(|(state, name)| (name, seen.total(|worker| of(&worker.insides)[state as usize])))
}

/// Busy ones and idle ones; none where coroutines share one PHP.
pub fn instances(seen: &Snapshot) -> [usize; 2] {
    if seen.has_instances {
        [seen.total(|worker| worker.coroutines), seen.total(|worker| worker.insides.idle)]
    } else {
        [0, 0]
    }
}
