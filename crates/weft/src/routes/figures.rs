//! What is counted of each route, by one worker.
//!
//! Must not know what a route is called. Invariant: one process writes.

use weft_rt::Account;
use weft_rt::counter::Counter;
use weft_serve::Durations;

use super::names::ROUTES;

/// The figures of one route.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Route {
    /// For how long its requests had the loop, and for how long they waited.
    pub account: Account,
    /// Answers by the hundreds of their status, 1xx to 5xx.
    pub answers: [Counter; 5],
    /// How long requests took.
    pub durations: Durations,
}

/// The figures of all routes, by number.
#[derive(Debug)]
#[repr(transparent)]
pub struct Figures(pub [Route; ROUTES]);

impl Default for Figures {
    fn default() -> Figures {
        Figures(std::array::from_fn(|_| Route::default()))
    }
}

impl Route {
    /// Every number of it.
    pub fn counters(&self) -> impl Iterator<Item = &Counter> {
        [&self.account.ran, &self.durations.sum]
            .into_iter()
            .chain(&self.account.waited)
            .chain(&self.answers)
            .chain(&self.durations.counts)
    }
}
