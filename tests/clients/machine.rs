//! The machine's load during a test: while the machine computes, the test's requests may have to wait.
//!
//! Must not know what is computed, or by which process. Invariant: nothing here fails; if /proc cannot be read, the
//! machine counts as idle.

/// Ticks of a second in `/proc/stat`: `USER_HZ`, which is the same on every Linux (proc_stat(5)).
const TICKS: f64 = 100.0;

/// The seconds that all processors together have worked since the machine was booted: for programs, for the kernel, for
/// disks that programs wait for, and for other guests of the host.
fn worked() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    // user nice system idle iowait irq softirq steal; the rest is part of user and nice.
    let ticks = all.take(8).enumerate().filter(|(at, _)| *at != 3);
    ticks.map(|(_, ticks)| ticks.parse().unwrap_or(0.0)).sum::<f64>() / TICKS
}

/// A snapshot of the machine's load, to be compared with a later one.
pub struct Machine(f64);

impl Machine {
    /// Takes a snapshot.
    pub fn look() -> Machine {
        Machine(worked())
    }

    /// The seconds the machine has worked since the snapshot.
    pub fn worked(&self) -> f64 {
        (worked() - self.0).max(0.0)
    }
}
