//! What is counted of each route, by one worker.
//!
//! Must not know what a route is called. Invariant: one process writes.

use weft_rt::counter::Counter;
use weft_serve::Tally;

use super::names::ROUTES;

/// The figures of all routes, by number.
#[derive(Debug)]
#[repr(transparent)]
pub struct Figures(pub [Tally; ROUTES]);

impl Default for Figures {
    fn default() -> Figures {
        Figures(std::array::from_fn(|_| Tally::default()))
    }
}

/// Every number of a route.
pub fn counters(route: &Tally) -> impl Iterator<Item = &Counter> {
    [&route.account.ran].into_iter().chain(&route.account.waited).chain(route.answers.counters())
}
