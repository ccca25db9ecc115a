//! `weft doctor`: which limit of this machine this configuration meets first, and what to do about it.
//!
//! Must not know how a report looks, nor PHP's code. Invariants: it changes nothing, and asks nobody but files below one root, so
//! that a test can plant any machine; a file that is missing or unreadable is no finding.
//!
//! # Layout, in reading order
//! - `advice`: one finding; `tree`: the files it is read from; `plan`: what the configuration wants of the machine.
//! - `capacity`: how many connections and coroutines fit before which limit. `accept`: queues of new connections. `outgoing`: ports
//!   and connections that have ended. `aged`: settings that were good advice once. `processor`, `cores`, `traffic`,
//!   `cards`, `storage`, `names`: the rest of the machine. `ini`, `php`, `opcache`: PHP's settings; `scripts`: how much code they are for.
//!   `client`: what matters where load is made.

mod accept;
mod advice;
mod aged;
mod capacity;
mod cards;
mod client;
mod cores;
mod ini;
mod names;
mod opcache;
mod outgoing;
mod php;
mod plan;
mod processor;
mod scripts;
mod storage;
#[cfg(test)]
mod tests;
mod traffic;
mod tree;

pub use advice::{Advice, Severity};
pub use ini::Php;
pub use php::examine as of_php;
pub use plan::Plan;
pub use scripts::count as scripts;
pub use tree::Tree;

/// Everything that is known of a machine that serves, the worst first.
pub fn of_server(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    let mut all = at_start(tree, plan);
    all.extend(cores::examine(tree, plan));
    all.extend(cards::examine(tree, plan));
    all.extend(outgoing::examine(tree));
    all.extend(aged::examine(tree));
    all.extend(names::examine(tree));
    in_order(all)
}

/// What is read quickly: the start of a server tells the worst of it.
pub fn at_start(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    let parts = [
        capacity::examine(tree, plan),
        accept::examine(tree, plan),
        processor::examine(tree, plan),
        traffic::examine(tree, plan),
        storage::examine(tree, plan),
    ];
    in_order(parts.into_iter().flatten().collect())
}

/// What matters on a machine that makes load.
pub fn of_client(tree: &Tree) -> Vec<Advice> {
    let mut all = client::examine(tree);
    all.extend(outgoing::examine(tree));
    all.extend(aged::examine(tree));
    in_order(all)
}

/// The worst first, otherwise in the order in which they were found.
pub fn in_order(mut all: Vec<Advice>) -> Vec<Advice> {
    all.sort_by_key(|advice| std::cmp::Reverse(advice.severity));
    all
}
