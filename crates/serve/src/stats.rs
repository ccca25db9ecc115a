//! What a server counts.
//!
//! Must not know who reads it. Invariant: only the loop's thread writes; the memory may be shared with other processes.

use weft_rt::counter::{Counter, Gauge};
use weft_rt::{MILLISECOND, Nanos};

use crate::states::States;

/// Counters since the start, except for those marked as gauges.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Stats {
    /// Connections accepted.
    pub accepted: Counter,
    /// Requests dispatched.
    pub requests: Counter,
    /// Heads answered with an error by the server itself.
    pub refused: Counter,
    /// Connections that missed one of the deadlines of [`ServerLimits`](crate::ServerLimits), idle ones
    /// included.
    pub timed_out: Counter,
    /// Connections closed to make room for new ones.
    pub evicted: Counter,
    /// HTTP/2 connections that were ended because their peers flooded them with frames.
    pub http2_floods: Counter,
    /// Messages that WebSocket clients have sent.
    pub messages_received: Counter,
    /// Messages for WebSocket clients that were lost because the clients did not keep up.
    pub messages_dropped: Counter,
    /// Messages of topics that were queued for their subscribers.
    pub messages_delivered: Counter,
    /// Datagrams that have arrived.
    pub datagrams_received: Counter,
    /// Datagrams that were sent.
    pub datagrams_sent: Counter,
    /// Datagrams that were lost here: those that had arrived, or were to be sent, and found no room.
    pub datagrams_dropped: Counter,
    /// Answers to requests that are not [counted by their mark](crate::Server::count_by_mark).
    pub answers: Answers,
    /// Gauge: connections.
    pub connections: Gauge,
    /// Gauge: connections that hold buffers.
    pub busy: Gauge,
    /// Gauge: requests whose response has not ended.
    pub in_flight: Gauge,
    /// Gauge: requests that wait unread.
    pub unread: Gauge,
    /// Gauge: connections that are WebSockets.
    pub tunnels: Gauge,
    /// Gauges: connections by their states, where [`Server::count_states`](crate::Server::count_states) is called.
    pub connection_states: States,
    /// Gauges: the same of the streams of HTTP/2 connections.
    pub stream_states: States,
}

/// Answers.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Answers {
    /// How many, by the hundreds of their status, 1xx to 5xx.
    pub by_class: [Counter; 5],
    /// How long requests took.
    pub durations: Durations,
}

impl Answers {
    /// Every number of them.
    pub fn counters(&self) -> impl Iterator<Item = &Counter> {
        self.by_class.iter().chain(&self.durations.counts).chain([&self.durations.sum])
    }

    /// Counts one, unless it has no status: its request was given up.
    #[inline]
    pub(crate) fn add(&self, status: u16, duration: Nanos) {
        if let Some(class) = self.by_class.get(usize::from(status / 100).wrapping_sub(1)) {
            class.add(1);
            self.durations.add(duration, Durations::class_of(duration));
        }
    }
}

/// A histogram of times, from the first byte of a request to the moment at which its answer is sent.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Durations {
    /// Their sum in nanoseconds.
    pub sum: Counter,
    /// How many there were up to the bound of the same index, and above the one before; the last has no bound.
    pub counts: [Counter; Durations::BOUNDS.len() + 1],
}

impl Durations {
    /// The upper bounds of the classes, inclusive.
    pub const BOUNDS: [Nanos; 16] = [
        MILLISECOND / 4,
        MILLISECOND / 2,
        MILLISECOND,
        2 * MILLISECOND,
        5 * MILLISECOND,
        10 * MILLISECOND,
        25 * MILLISECOND,
        50 * MILLISECOND,
        100 * MILLISECOND,
        250 * MILLISECOND,
        500 * MILLISECOND,
        1_000 * MILLISECOND,
        2_500 * MILLISECOND,
        5_000 * MILLISECOND,
        10_000 * MILLISECOND,
        30_000 * MILLISECOND,
    ];

    /// The class of a time.
    #[inline]
    pub fn class_of(duration: Nanos) -> usize {
        Self::BOUNDS.iter().position(|bound| duration <= *bound).unwrap_or(Self::BOUNDS.len())
    }

    /// Counts one, of its [class](Durations::class_of).
    ///
    /// # Panics
    /// If there is no such class.
    #[inline]
    pub fn add(&self, duration: Nanos, class: usize) {
        self.counts[class].add(1);
        self.sum.add(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_class_of_its_bound() {
        let durations = Durations::default();
        for (duration, class) in [
            (0, 0),
            (250_000, 0),
            (250_001, 1),
            (MILLISECOND, 2),
            (30_000 * MILLISECOND, 15),
            (u64::MAX / 2, 16),
        ] {
            let before = durations.counts[class].get();
            durations.add(duration, Durations::class_of(duration));
            assert_eq!(durations.counts[class].get(), before + 1, "{duration}");
        }
        assert!(Durations::BOUNDS.is_sorted());
    }
}
