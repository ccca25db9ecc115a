//! What a worker's requests run on where each has PHP to itself: instances, or one request after another.
//!
//! Must not know what is in an instance. Invariant: whatever this machine refuses, requests are served.

use weft_rt::Switch;
use weft_zend::{InstanceOptions, InstanceSwitch, NativeSwitch};

use crate::config::{Config, Mode};
use crate::machine;

/// Address space of the stack on which requests run, like that of a main thread; only touched pages cost
/// memory.
pub const STACK_BYTES: usize = 8 << 20;
/// A worker may always use this much, however little memory there is, unless its control group has less.
const MEMORY_BYTES_MIN: u64 = 256 << 20;

/// What a worker uses to run its jobs.
pub struct Booted {
    /// Gives coroutines the processor.
    pub switch: Box<dyn Switch>,
    /// In classic mode: how many requests can be in PHP at once.
    pub instances: Option<usize>,
}

/// Instances or, if they are impossible, one request at a time.
///
/// # Errors
/// Why there are no instances, if sites have applications: each needs its own.
pub fn boot(config: &Config) -> Result<Booted, String> {
    let mode = Mode::of(config);
    let instances_max = mode.instances(config);
    if instances_max > 1 {
        let started = InstanceSwitch::start(InstanceOptions {
            instances_max,
            stack_bytes: STACK_BYTES,
            memory_bytes_max: memory_bytes_max(
                config.classic.instances_memory_bytes_max,
                mode.workers(config),
            ),
            verify: config.dev.verify_instances,
        });
        match started {
            Ok(switch) => {
                return Ok(Booted { switch: Box::new(switch), instances: Some(instances_max as usize) });
            }
            Err(reason) if config.has_site_applications() => return Err(reason),
            Err(reason) => tracing::error!("{reason}; this worker runs one request at a time"),
        }
    }
    Ok(Booted { switch: Box::new(NativeSwitch::new(STACK_BYTES)), instances: Some(1) })
}

/// How much memory a worker may use before requests wait: the configured amount, or its share of half of all
/// memory.
fn memory_bytes_max(configured: u64, workers: usize) -> u64 {
    if configured > 0 {
        return configured;
    }
    let workers = workers.max(1) as u64;
    // In a small control group all workers together leave a quarter to everything else, or the kernel ends one of them.
    let least = machine::group_memory_bytes().map_or(MEMORY_BYTES_MIN, |bytes| bytes / 4 * 3 / workers);
    (machine::memory_bytes() / 2 / workers).max(least.min(MEMORY_BYTES_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_is_configured_or_a_part_of_what_there_is() {
        assert_eq!(memory_bytes_max(7, 1), 7);
        let many = memory_bytes_max(0, 1_000_000);
        match machine::group_memory_bytes() {
            None => assert_eq!(many, MEMORY_BYTES_MIN),
            Some(bytes) => assert!(many * 1_000_000 < bytes || many == MEMORY_BYTES_MIN, "{many}"),
        }
        assert!(memory_bytes_max(0, 1) > many);
    }
}
