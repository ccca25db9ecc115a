//! How much address space a coroutine's C stack has on this machine.
//!
//! Must not know what runs on a stack. Invariant: if address space is limited, coroutines_max and tasks_max stacks fit
//! into half of it, or have the minimum that most code needs.

use rustix::process::{Resource, getrlimit};

use crate::config::LimitSettings;

/// Enough for nearly all code; only deep recursion in C code needs more.
const BYTES_MIN: usize = 512 << 10;

/// The configured size, or less if that many stacks would not fit.
pub fn bytes(limits: &LimitSettings) -> usize {
    let Some((space, why)) = limited() else { return limits.stack_bytes };
    let bytes = fitting(limits.stack_bytes, limits.coroutines_max + limits.tasks_max, space);
    if bytes < limits.stack_bytes {
        tracing::warn!(
            "coroutines have C stacks of {} KiB, not {} (stack_bytes): {why}; deeply nested data may need more",
            bytes >> 10,
            limits.stack_bytes >> 10
        );
    }
    bytes
}

fn fitting(wanted: usize, stacks: usize, space: u64) -> usize {
    if wanted as u64 <= space / 2 / stacks.max(1) as u64 { wanted } else { wanted.min(BYTES_MIN) }
}

/// The address space that this process may use, in bytes, and what limits it; `None` if only touched pages count.
fn limited() -> Option<(u64, &'static str)> {
    if let Some(bytes) = getrlimit(Resource::As).current {
        return Some((bytes, "the address space of a process is limited (ulimit -v)"));
    }
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    if read("/proc/sys/vm/overcommit_memory").trim() != "2" {
        return None;
    }
    let memory = read("/proc/meminfo");
    let bytes = crate::machine::in_kib(&memory, "CommitLimit:")?;
    Some((bytes, "address space counts as memory here (vm.overcommit_memory = 2)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_smaller_where_address_space_is_limited() {
        let wanted = 8 << 20;
        assert_eq!(fitting(wanted, 20_000, 1 << 40), wanted);
        assert_eq!(fitting(wanted, 20_000, 64 << 30), BYTES_MIN);
        assert_eq!(fitting(wanted, 100, 64 << 30), wanted);
        assert_eq!(fitting(128 << 10, 20_000, 1 << 30), 128 << 10, "what was asked for is less");
    }
}
