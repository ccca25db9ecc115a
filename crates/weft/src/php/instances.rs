//! What a worker's requests run on where each has PHP to itself: instances, or one request after another.
//!
//! Must not know what is in an instance. Invariant: whatever this machine refuses, requests are served.

use weft_zend::{InstanceOptions, InstanceSwitch, NativeSwitch};

use super::Booted;
use crate::config::Config;
use crate::master::Mode;

/// Address space of the stack on which requests run, like that of a main thread; only touched pages cost
/// memory.
pub const STACK_BYTES: usize = 8 << 20;
/// A worker may always use this much, however little memory there is.
const MEMORY_BYTES_MIN: u64 = 256 << 20;

/// Instances or, if they are impossible, one request at a time.
pub fn boot(config: &Config) -> Booted {
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
                return Booted { switch: Box::new(switch), instances: Some(instances_max as usize) };
            }
            Err(reason) => tracing::error!("{reason}; this worker runs one request at a time"),
        }
    }
    Booted { switch: Box::new(NativeSwitch::new(STACK_BYTES)), instances: Some(1) }
}

/// How much memory a worker may use before requests wait: the configured amount, or its share of half of all
/// memory.
fn memory_bytes_max(configured: u64, workers: usize) -> u64 {
    let part = || machine_bytes() / 2 / workers.max(1) as u64;
    if configured > 0 { configured } else { part().max(MEMORY_BYTES_MIN) }
}

/// The memory of this machine, or of this process's control group (cgroup v2), whichever is less; 8 GiB if the system
/// reports neither.
fn machine_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let total = in_kib(&read("/proc/meminfo"), "MemTotal:").unwrap_or(8 << 30);
    let group = read("/proc/self/cgroup");
    let group = group.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let limit = read(&format!("/sys/fs/cgroup{group}/memory.max"));
    // "max" is not a number: there is no limit.
    limit.trim().parse::<u64>().map_or(total, |limit| limit.min(total))
}

/// A value of /proc/meminfo (proc(5)), in bytes.
pub fn in_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_is_configured_or_a_part_of_what_there_is() {
        assert_eq!(memory_bytes_max(7, 1), 7);
        assert!(memory_bytes_max(0, 1) > MEMORY_BYTES_MIN);
        assert_eq!(memory_bytes_max(0, 1_000_000), MEMORY_BYTES_MIN);
        assert_eq!(in_kib("MemTotal:       16 kB\nMemFree: 8 kB\n", "MemTotal:"), Some(16 << 10));
        assert_eq!(in_kib("", "MemTotal:"), None);
    }
}
