//! Many visitors at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Calls `work` with each number below `count`, at most `at_once` at a time; returns the results in order.
pub fn each<T: Send>(count: usize, at_once: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let mut results: Vec<(usize, T)> = thread::scope(|scope| {
        let one = || {
            let mut own = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return own;
                }
                own.push((number, work(number)));
            }
        };
        let threads: Vec<_> = (0..at_once.min(count)).map(|_| scope.spawn(one)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a visitor is satisfied")).collect()
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
