//! Where files go that are written while requests run.
//!
//! Must not know what is in them. Invariant: only the kind of a file system is told, never what lies on it.

use super::advice::{Advice, Severity};
use super::capacity::amount;
use super::plan::Plan;
use super::tree::Tree;

pub fn examine(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    let mut all: Vec<Advice> = plan.logs.iter().filter_map(|log| slow_log(tree, log)).collect();
    all.extend([temporary(tree, plan), shared_memory(tree)].into_iter().flatten());
    all
}

/// The type and the options of the file system that a path is on (proc_pid_mounts(5)).
fn mount(tree: &Tree, path: &str) -> Option<(String, String)> {
    let text = tree.text("proc/self/mounts")?;
    let fits = |place: &str| path == place || path.starts_with(&format!("{}/", place.trim_end_matches('/')));
    let mounts = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (place, kind, options) = (words.next()?, words.next()?, words.next()?);
        fits(place).then(|| (place.len(), kind.to_owned(), options.to_owned()))
    });
    // Of two at one place the later one is seen.
    mounts
        .enumerate()
        .max_by_key(|(at, (length, ..))| (*length, *at))
        .map(|(_, (_, kind, options))| (kind, options))
}

fn slow_log(tree: &Tree, log: &str) -> Option<Advice> {
    let (kind, options) = mount(tree, log)?;
    let is_remote = kind.starts_with("nfs") || kind == "cifs" || kind.starts_with("fuse");
    let is_sync = options.split(',').any(|option| option == "sync");
    (is_remote || is_sync).then(|| {
        let how = if is_sync { "mounted with sync".to_owned() } else { format!("on {kind}") };
        Advice::note("log", Severity::Warning, format!("{log} is {how}"))
            .because("a line waits for the disk or the network; what log.queue_bytes_max does not hold is dropped, and counted")
            .fix("a log on a local file system, or the process's own stream for the service manager")
    })
}

/// The size of a tmpfs: half of the memory unless an option says so.
fn tmpfs_bytes(tree: &Tree, options: &str) -> Option<u64> {
    let size = options.split(',').find_map(|option| option.strip_prefix("size="));
    let Some(size) = size else { return tree.memory("MemTotal:").map(|bytes| bytes / 2) };
    let (number, unit) = size.split_at(size.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let scale = match unit {
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => 0,
    };
    number.parse::<u64>().ok().map(|bytes| bytes << scale)
}

fn temporary(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let (kind, options) = mount(tree, "/tmp")?;
    let size = tmpfs_bytes(tree, &options).filter(|_| kind == "tmpfs")?;
    let wanted = plan.spool_bytes.saturating_mul(plan.workers);
    (size < wanted).then(|| {
        Advice::note("/tmp", Severity::Note, format!("/tmp is a tmpfs of {}: memory", amount(size)))
            .because(format!(
                "bodies and answers that wait go there, up to {} of all workers together, beside uploads; they count as memory",
                amount(wanted)
            ))
            .fix("TMPDIR on a disk, upload_tmp_dir in php.ini, or a lower spool_bytes_max in [limits]")
    })
}

fn shared_memory(tree: &Tree) -> Option<Advice> {
    let (kind, options) = mount(tree, "/dev/shm")?;
    let size = tmpfs_bytes(tree, &options).filter(|_| kind == "tmpfs")?;
    (size < 128 << 20).then(|| {
        Advice::note("/dev/shm", Severity::Note, format!("/dev/shm has {}", amount(size)))
            .because("extensions that share memory by files have no more; weft and opcache share memory without them")
            .fix("--shm-size=256m for a container, or size= in the line of /dev/shm in /etc/fstab")
    })
}
