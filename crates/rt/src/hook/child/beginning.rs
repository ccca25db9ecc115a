//! What is there when the worker begins to serve: it is everybody's, and from then on each family has its own.

use super::{apart, children, owner, tree};
use crate::family::EVERYBODY;

/// From here on children are given what their own family has. What is open now is everybody's: what whoever started the server
/// has left open for it, and what the application has opened when it booted. So are the children that run already.
pub fn keep_families_apart() {
    apart::keep();
    children::of_the_beginning(tree::children_of(rustix::process::getpid().as_raw_pid()));
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    for fd in open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()) {
        owner::set(fd, EVERYBODY);
    }
}
