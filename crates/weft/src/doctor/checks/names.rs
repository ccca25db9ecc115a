//! How names of hosts are looked up.
//!
//! Must not know which names. Invariant: nobody is asked.

use super::advice::{Advice, Severity};
use super::tree::Tree;

/// What the C library does if the file says nothing (resolv.conf(5)).
const TIMEOUT_S: u64 = 5;
const ATTEMPTS: u64 = 2;
/// Longer than this, a request that needs a name fails before it has one.
const PATIENCE_S: u64 = 10;
/// The C library asks the first three.
const SERVERS_MAX: usize = 3;

pub fn examine(tree: &Tree) -> Vec<Advice> {
    [patience(tree), modules(tree)].into_iter().flatten().collect()
}

fn patience(tree: &Tree) -> Option<Advice> {
    let text = tree.text("etc/resolv.conf")?;
    let words = |name: &'static str| text.lines().filter_map(move |line| line.trim().strip_prefix(name));
    let servers = words("nameserver").count().clamp(1, SERVERS_MAX) as u64;
    let option = |name: &str| {
        let options = words("options").flat_map(str::split_ascii_whitespace);
        options.filter_map(|option| option.strip_prefix(name)?.parse::<u64>().ok()).next_back()
    };
    let (timeout, attempts) =
        (option("timeout:").unwrap_or(TIMEOUT_S), option("attempts:").unwrap_or(ATTEMPTS));
    let longest = timeout * attempts * servers;
    let found = format!(
        "a lookup that nobody answers takes up to {longest} s ({servers} servers, {attempts} attempts of {timeout} s)"
    );
    if longest <= PATIENCE_S {
        return Some(Advice::note("resolv.conf", Severity::Fine, found));
    }
    Some(
        Advice::note("resolv.conf", Severity::Note, found)
            .because("lookups run in threads, of which a worker has few: a dead server for names holds up every request that needs one")
            .fix("options timeout:1 attempts:2 in /etc/resolv.conf, and a resolver on this machine that remembers (systemd-resolved, unbound)"),
    )
}

fn modules(tree: &Tree) -> Option<Advice> {
    let text = tree.text("etc/nsswitch.conf")?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("hosts:"))?;
    let slow = ["mdns", "wins", "ldap", "nis"];
    let found = line.split_ascii_whitespace().find(|word| slow.iter().any(|name| word.starts_with(name)))?;
    Some(
        Advice::note(
            "nsswitch.conf",
            Severity::Note,
            format!("names of hosts are looked for by {found} as well"),
        )
        .because("a name that does not exist waits for it, too")
        .fix("hosts: files dns in /etc/nsswitch.conf"),
    )
}
