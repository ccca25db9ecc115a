//! What the machine did meanwhile: time that it computed is time that nobody waited.
//!
//! Must not know what was computed, or by whom. Invariant: nothing here fails; who cannot look sees a machine that did nothing.

/// Ticks of a second in `/proc/stat`: `USER_HZ`, which is the same on every Linux (proc_stat(5)).
const TICKS: f64 = 100.0;

/// The seconds for which the machine's processors have been at work since it was started, all of them taken together: for
/// programs, for the kernel, for a disk that a program waits for, and for the other guests of its host.
fn worked() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    // user nice system idle iowait irq softirq steal; what follows is part of user and nice.
    let ticks = all.take(8).enumerate().filter(|(at, _)| *at != 3);
    ticks.map(|(_, ticks)| ticks.parse().unwrap_or(0.0)).sum::<f64>() / TICKS
}

/// A look at the machine, for another one later.
pub struct Machine(f64);

impl Machine {
    /// What it has done so far.
    pub fn look() -> Machine {
        Machine(worked())
    }

    /// The seconds it has worked since.
    pub fn worked(&self) -> f64 {
        (worked() - self.0).max(0.0)
    }
}
