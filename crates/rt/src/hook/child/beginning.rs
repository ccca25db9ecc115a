//! The start of keeping families apart: descriptors and children that exist at this moment belong to every family.

use super::{apart, children, owner, tree};
use crate::family::EVERYBODY;

/// From here on a child gets only what its own family opened. Descriptors that are open now belong to every family:
/// those that the server inherited, and those that the application opened while it booted. The same holds for running
/// children.
pub fn keep_families_apart() {
    apart::keep();
    children::of_the_beginning(tree::children_of(rustix::process::getpid().as_raw_pid()));
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    for fd in open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()) {
        owner::set(fd, EVERYBODY);
    }
}
