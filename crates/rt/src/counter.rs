//! Numbers that one thread changes and others may read, in other processes too if they lie in memory that is shared.
//!
//! Must not know what is counted. Invariant: a number has one writer, so that a change is a load and a store, as cheap as
//! that of a variable.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// A number that only grows, as long as its process lives.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The number.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Sets the number; for its one writer.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Adds to the number; for its one writer.
    #[inline]
    pub fn add(&self, count: u64) {
        self.set(self.get().wrapping_add(count));
    }
}

/// A number that rises and falls.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Gauge(AtomicUsize);

impl Gauge {
    /// The number.
    #[inline]
    pub fn get(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// Sets the number; for its one writer.
    #[inline]
    pub fn set(&self, value: usize) {
        self.0.store(value, Relaxed);
    }
}
