//! What a crowd's thread counts, for those who wait.
//!
//! Must not know who waits. Invariant: what clients do is counted by their thread alone.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// Who says at the first server that nothing follows; at the others it is the letters before.
pub const END: char = 'Z';
/// How a restless client has ended its connection, beside the codes of close frames.
pub const LEFT: u16 = 1;

/// What the thread and those who wait for it tell each other.
#[derive(Debug, Default)]
pub struct Shared {
    /// The thread is to end.
    pub ends: AtomicBool,
    /// Clients that have subscribed, and whose connections have not ended since.
    pub live: AtomicUsize,
    /// Messages that were heard.
    pub heard: AtomicUsize,
    /// Of them those that say that nothing follows.
    pub farewells: AtomicUsize,
    /// Messages that are known to be published.
    pub published: AtomicUsize,
    /// Clients leave and stall at random.
    pub is_restless: AtomicBool,
    /// How connections have ended: codes of close frames, 0 for none.
    pub ended: Mutex<BTreeMap<u16, usize>>,
    /// What a client was sent that it must not be sent.
    pub failure: Mutex<Option<String>>,
}
