//! How many stacks the kernel has mappings for.
//!
//! Must not know what runs on them. Invariant: what is left out is said, with the setting that allows it.

/// As many coroutines and tasks as were configured, but together no more than the kernel has mappings for: a stack
/// takes two, and a process without any left cannot even allocate memory (`vm.max_map_count`, proc_sys_vm(5)).
pub fn within_mappings(coroutines: usize, tasks: usize) -> (usize, usize) {
    const OTHER_MAPPINGS: usize = 2_000;
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    let Ok(mappings) = text.trim().parse::<usize>() else { return (coroutines, tasks) };
    let possible = ((mappings / 10 * 9).saturating_sub(OTHER_MAPPINGS) / 2).max(2);
    let wanted = coroutines + tasks;
    if possible >= wanted {
        return (coroutines, tasks);
    }
    let fitting = (possible * coroutines / wanted).max(1);
    tracing::warn!(
        "coroutines_max is {fitting}, not {coroutines}, and tasks_max {}, not {tasks}: vm.max_map_count = {mappings} allows no \
         more; raise it with sysctl vm.max_map_count={}",
        possible - fitting,
        wanted * 2 * 10 / 9 + 2 * OTHER_MAPPINGS
    );
    (fitting, possible - fitting)
}
