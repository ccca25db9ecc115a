//! The files that the doctor reads: /proc, /sys and /etc of this machine, or of one that a test has planted.
//!
//! Must not know what they mean for a server. Invariant: what is missing, unreadable or no number is `None`.

use std::path::{Path, PathBuf};

use crate::machine;

/// The machine below a directory.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The machine whose files are below `root`; `/` is this one.
    pub fn new(root: impl Into<PathBuf>) -> Tree {
        Tree { root: root.into() }
    }

    /// The place of a file.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path)).ok()
    }

    /// Whether there is such a file.
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The names in a directory, in order.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The first number of a file.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.numbers(path).first().copied()
    }

    /// All numbers of a file, up to the first word that is none.
    pub fn numbers(&self, path: &str) -> Vec<u64> {
        let text = self.text(path).unwrap_or_default();
        text.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect()
    }

    /// The value of a setting of the kernel: `net.core.somaxconn`.
    pub fn sysctl(&self, key: &str) -> Option<u64> {
        self.sysctls(key).first().copied()
    }

    /// The values of one that has several.
    pub fn sysctls(&self, key: &str) -> Vec<u64> {
        self.numbers(&format!("proc/sys/{}", key.replace('.', "/")))
    }

    /// A value in KiB of /proc/meminfo, in bytes.
    pub fn memory(&self, name: &str) -> Option<u64> {
        machine::in_kib(&self.text("proc/meminfo")?, name)
    }

    /// The memory that a process may have: the machine's, or the control group's if that is less.
    pub fn memory_bytes(&self) -> Option<u64> {
        let group = machine::group_limit(&self.root);
        [self.memory("MemTotal:"), group].into_iter().flatten().min()
    }

    /// A limit of this process by its name in /proc/self/limits: the soft and the hard one; `u64::MAX` is none.
    pub fn limit(&self, name: &str) -> Option<(u64, u64)> {
        let text = self.text("proc/self/limits")?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let mut values = line.split_ascii_whitespace().map(|word| match word {
            "unlimited" => Some(u64::MAX),
            number => number.parse().ok(),
        });
        Some((values.next()??, values.next()??))
    }

    /// A file of the control group (v2) that this process is in and of those above it, the innermost first.
    pub fn of_groups(&self, file: &str) -> Vec<String> {
        let groups = self.text("proc/self/cgroup").unwrap_or_default();
        let own = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
        // A group outside of this process's namespace is shown as /..; nothing of it is mounted here.
        let own = Path::new(if own.contains("..") { "/" } else { own });
        let places = own.ancestors().map(|group| format!("sys/fs/cgroup{}/{file}", group.display()));
        places.filter_map(|place| self.text(&place.replace("//", "/"))).collect()
    }

    /// The counter of this name in /proc/net/netstat or /proc/net/snmp, whose lines come in pairs: names, then values.
    pub fn counter(&self, table: &str, name: &str) -> Option<u64> {
        let texts = ["proc/net/netstat", "proc/net/snmp"].map(|file| self.text(file).unwrap_or_default());
        let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
        lines.windows(2).find_map(|pair| {
            let (names, values) = (pair[0].strip_prefix(table)?, pair[1].strip_prefix(table)?);
            let place = names.split_ascii_whitespace().position(|one| one == name)?;
            values.split_ascii_whitespace().nth(place)?.parse().ok()
        })
    }

    /// The unit of systemd that started this process, if one did.
    pub fn unit(&self) -> Option<String> {
        let groups = self.text("proc/self/cgroup")?;
        let unit = |line: &str| line.rsplit('/').find(|part| part.ends_with(".service")).map(str::to_owned);
        groups.lines().find_map(unit)
    }

    /// Whether this process is in a container.
    pub fn is_container(&self) -> bool {
        self.has(".dockerenv") || self.has("run/.containerenv")
    }
}
