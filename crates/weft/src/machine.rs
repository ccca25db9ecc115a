//! What this process may use of its machine: cores and memory, as the system and its control groups limit them.
//!
//! Must not know which code asks, or why. Invariant: files of /proc and /sys that are missing or unreadable limit
//! nothing, and no answer is 0.
//!
//! Cores are std's: the affinity mask and the quotas of cgroup v2 and v1. Memory is read here: the least limit of the
//! group this process is in and of the groups above it. In a container without a cgroup namespace the path that /proc
//! names is the host's; the container's own limit is then at the root of the mount.

use std::path::{Path, PathBuf};

/// What a worker needs at least, as a divisor of memory: a small application's own pages, and those of some requests.
const WORKER_BYTES_MIN: u64 = 64 << 20;
/// The assumed memory if nothing says how much there is.
const MEMORY_BYTES_UNKNOWN: u64 = 8 << 30;

/// The cores this process may use, at least one.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// As many of `workers` as the memory of the control group has room for, at least one.
pub fn fitting(workers: usize) -> usize {
    fitting_into(group_memory_bytes(), workers)
}

/// As many of `workers` as the memory of the machine or its control group has room for, beside as much again.
pub fn roomy(workers: usize) -> usize {
    fitting_into(Some(memory_bytes() / 2), workers)
}

/// The memory of the machine, or of the control group if that is less.
pub fn memory_bytes() -> u64 {
    machine_memory_bytes().min(group_memory_bytes().unwrap_or(u64::MAX))
}

/// The limit of the control group, if it is less than the machine's memory.
pub fn group_memory_bytes() -> Option<u64> {
    let machine = machine_memory_bytes();
    group_limit(Path::new("/")).filter(|bytes| *bytes < machine)
}

/// A value of /proc/meminfo (proc(5)), in bytes.
pub fn in_kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}

/// Whether it has addresses of IPv6.
pub fn has_ipv6() -> bool {
    !read(Path::new("/proc/net/if_inet6")).is_empty()
}

fn fitting_into(memory: Option<u64>, workers: usize) -> usize {
    let room =
        memory.map_or(usize::MAX, |bytes| usize::try_from(bytes / WORKER_BYTES_MIN).unwrap_or(usize::MAX));
    workers.min(room).max(1)
}

fn machine_memory_bytes() -> u64 {
    in_kib(&read(Path::new("/proc/meminfo")), "MemTotal:").unwrap_or(MEMORY_BYTES_UNKNOWN)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The least memory limit of the control groups that a process with this view of the file system is in.
pub fn group_limit(root: &Path) -> Option<u64> {
    let mounted = root.join("sys/fs/cgroup");
    let groups = read(&root.join("proc/self/cgroup"));
    let limits = groups.lines().filter_map(|line| {
        // hierarchy:controllers:path (cgroups(7)); v2 has hierarchy 0 and names no controllers.
        let mut fields = line.splitn(3, ':');
        let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        if hierarchy == "0" {
            // Beside v1 it is mounted as "unified".
            let whole = least(&mounted, path, &["memory.max", "memory.high"]);
            let beside = least(&mounted.join("unified"), path, &["memory.max", "memory.high"]);
            whole.into_iter().chain(beside).min()
        } else if controllers.split(',').any(|controller| controller == "memory") {
            least(&mounted.join("memory"), path, &["memory.limit_in_bytes"])
        } else {
            None
        }
    });
    limits.min()
}

/// The least number that one of `files` has in the group `path` or in one above it, below `mounted`.
fn least(mounted: &Path, path: &str, files: &[&str]) -> Option<u64> {
    // A group outside of this process's cgroup namespace is shown as /..; nothing of it is mounted here.
    let path = Path::new(if path.contains("..") { "/" } else { path });
    let groups = path.ancestors().map(|group| mounted.join(group.strip_prefix("/").unwrap_or(group)));
    // "max" is not a number: there is no limit.
    let limit = |file: PathBuf| read(&file).trim().parse::<u64>().ok().filter(|bytes| *bytes > 0);
    groups.flat_map(|group| files.iter().filter_map(move |file| limit(group.join(file)))).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::testing::Directory;

    /// A tree of /proc and /sys with these files.
    fn tree(files: &[(&str, &str)]) -> Directory {
        let directory = Directory::new();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        directory
    }

    fn limit(files: &[(&str, &str)]) -> Option<u64> {
        group_limit(tree(files).path())
    }

    const GROUP: &str = "proc/self/cgroup";

    #[test]
    fn the_least_limit_on_the_way_up_counts() {
        let service = [
            (GROUP, "0::/system.slice/weft.service\n"),
            ("sys/fs/cgroup/system.slice/weft.service/memory.max", "1000\n"),
            ("sys/fs/cgroup/system.slice/weft.service/memory.high", "max\n"),
            ("sys/fs/cgroup/system.slice/memory.max", "max\n"),
        ];
        assert_eq!(limit(&service), Some(1000));
        assert_eq!(
            limit(&[&service[..3], &[("sys/fs/cgroup/system.slice/memory.max", "900\n")]].concat()),
            Some(900)
        );
        let high = ("sys/fs/cgroup/system.slice/weft.service/memory.high", "800");
        assert_eq!(limit(&[&service[..2], &[high]].concat()), Some(800));
    }

    #[test]
    fn a_container_finds_its_own_group_at_the_root() {
        assert_eq!(limit(&[(GROUP, "0::/\n"), ("sys/fs/cgroup/memory.max", "2000\n")]), Some(2000));
        // Without a cgroup namespace: the host's path, which is not mounted.
        let host = "12:cpu,cpuacct:/docker/ab\n5:hugetlb,memory:/docker/ab\n0::/docker/ab\n";
        assert_eq!(
            limit(&[(GROUP, host), ("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n")]),
            Some(3000)
        );
        assert_eq!(
            limit(&[(GROUP, "0::/../../other\n"), ("sys/fs/cgroup/memory.max", "4000\n")]),
            Some(4000)
        );
    }

    #[test]
    fn version_1_and_both_at_once() {
        let group = "4:memory:/a/b\n1:cpu:/c\n0::/d\n";
        let v1 = ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "5000\n");
        assert_eq!(limit(&[(GROUP, group), v1]), Some(5000));
        let above = ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4500\n");
        assert_eq!(limit(&[(GROUP, group), v1, above]), Some(4500));
        let unified = ("sys/fs/cgroup/unified/d/memory.max", "4000\n");
        assert_eq!(limit(&[(GROUP, group), v1, above, unified]), Some(4000));
        // The limits of another controller's group are not ours.
        assert_eq!(limit(&[(GROUP, group), ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1\n")]), None);
    }

    #[test]
    fn what_is_missing_or_odd_limits_nothing() {
        assert_eq!(limit(&[]), None);
        assert_eq!(limit(&[(GROUP, "nonsense\n0:\n\n::\n")]), None);
        for text in ["max", "", "0", "-1", "many", "99999999999999999999999"] {
            assert_eq!(limit(&[(GROUP, "0::/a\n"), ("sys/fs/cgroup/a/memory.max", text)]), None, "{text}");
        }
        assert!(cores() > 0 && memory_bytes() > 0);
        assert_eq!(in_kib("MemTotal:       16 kB\nMemFree: 8 kB\n", "MemTotal:"), Some(16 << 10));
        assert_eq!(in_kib("", "MemTotal:"), None);
    }

    #[test]
    fn workers_fit_into_the_memory_of_the_group() {
        assert_eq!(fitting_into(None, 64), 64);
        assert_eq!(fitting_into(Some(512 << 20), 64), 8);
        assert_eq!(fitting_into(Some(512 << 20), 2), 2);
        assert_eq!(fitting_into(Some(1 << 20), 64), 1);
    }
}
