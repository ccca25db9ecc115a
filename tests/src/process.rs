//! Processes, observed through /proc (proc(5)), and signals.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// The children of a process, oldest first. Zombies are included.
pub fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn state(pid: u32) -> Option<char> {
    state_in(Path::new(&format!("/proc/{pid}")))
}

fn state_in(directory: &Path) -> Option<char> {
    let status = std::fs::read_to_string(directory.join("stat")).unwrap_or_default();
    // The name in parentheses may contain anything; the state follows it.
    status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// Whether the process exists and is not a zombie.
pub fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z' && state != 'X') && test_kill_process(pid_of(pid)).is_ok()
}

/// Whether SIGSTOP has stopped the process, which is the end of what each of its threads was doing.
pub fn is_stopped(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut states = threads.map(|thread| state_in(&thread.path())).peekable();
    states.peek().is_some() && states.all(|state| state == Some('T'))
}

/// Whether the main thread of the process waits for something.
pub fn sleeps(pid: u32) -> bool {
    state(pid) == Some('S')
}

/// Sends a signal to one process.
///
/// # Panics
/// If the process no longer exists.
pub fn signal(pid: u32, signal: Signal) {
    kill_process(pid_of(pid), signal).unwrap_or_else(|e| panic!("cannot send {signal:?} to {pid}: {e}"));
}

/// How many descriptors of a process are listening TCP sockets.
pub fn listening_sockets(pid: u32) -> usize {
    const LISTEN: &str = "0A"; // include/net/tcp_states.h
    let table =
        ["tcp", "tcp6"].map(|name| std::fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default());
    let inode = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(3) == Some(&LISTEN))
            .then(|| format!("socket:[{}]", words.get(9).copied().unwrap_or_default()))
    };
    let listening: Vec<String> = table.iter().flat_map(|text| text.lines()).filter_map(inode).collect();
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return 0 };
    let links = descriptors.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| listening.iter().any(|name| link.as_os_str() == name.as_str())).count()
}

/// The process's private resident memory in bytes; shared memory does not count.
pub fn private_bytes(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("the process is alive");
    let sum: u64 = text
        .lines()
        .filter(|line| line.starts_with("Private_"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum();
    sum * 1024
}

fn pid_of(pid: u32) -> Pid {
    Pid::from_raw(pid as i32).expect("a pid is positive")
}

/// The most memory that the process has had resident since it was last asked for, in bytes; now, and from now on.
///
/// # Panics
/// If the process no longer exists, or is another user's.
pub fn resident_bytes_peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is alive");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).expect("proc(5)");
    // Sets the peak to what it has now.
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("our own process");
    kib * 1024
}
