//! Workers of a master that was killed: they release their sockets at once, or within a second or two if they are
//! blocked, and a new master meanwhile waits for that.
//!
//! Must not know which sockets they have. Invariant: a new master waits only if an orphan could be what blocks it.

use std::time::{Duration, Instant};

use rustix::io::Errno;

/// How long to wait for orphans: more than `RELEASE_AFTER_S` in `worker/lost.rs`.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The names of workers (`prepare` in `start.rs`).
const WORKER: &str = "weft: worker ";

/// Binds, and retries while the address is in use and orphans may be the reason.
///
/// # Errors
/// Those of `bind`.
pub fn patiently<T>(bind: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match bind() {
            Err(Errno::ADDRINUSE) if Instant::now() < deadline && exist() => std::thread::sleep(LOOK_EVERY),
            other => return other,
        }
    }
}

/// Whether this process can see a worker whose parent is not weft.
fn exist() -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(name_and_parent)
        .filter(|(name, _)| name.starts_with(WORKER))
        .any(|(_, parent)| !name_and_parent(parent).is_some_and(|(name, _)| name.starts_with("weft")))
}

/// From /proc/PID/stat: `pid (name) state parent …`; the name may contain anything (proc(5)).
fn name_and_parent(pid: u32) -> Option<(String, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
    Some((name.to_string(), rest.split_whitespace().nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_name_and_a_parent() {
        let (name, parent) = name_and_parent(std::process::id()).unwrap();
        assert!(name.starts_with("weft"), "{name}");
        assert_eq!(parent, std::os::unix::process::parent_id());
    }

    #[test]
    fn who_is_not_kept_out_by_orphans_does_not_wait() {
        let count = std::cell::Cell::new(0);
        let refused: Result<(), Errno> = patiently(|| {
            count.set(count.get() + 1);
            Err(Errno::ACCESS)
        });
        assert_eq!((refused, count.get()), (Err(Errno::ACCESS), 1));
    }
}
