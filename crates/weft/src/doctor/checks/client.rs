//! A machine that makes load: what bounds it before the server that it measures.
//!
//! Must not know the server. Invariant: what it says holds for any generator of load.

use super::advice::{Advice, Severity};
use super::outgoing;
use super::tree::Tree;

pub fn examine(tree: &Tree) -> Vec<Advice> {
    let mut all: Vec<Advice> = [descriptors(tree), rate(tree), cores(tree)].into_iter().flatten().collect();
    all.push(omission());
    all
}

fn descriptors(tree: &Tree) -> Option<Advice> {
    let (soft, hard) = tree.limit("Max open files")?;
    let found = format!(
        "{soft} descriptors (hard limit {hard}): at most {} connections from one process",
        soft.saturating_sub(16)
    );
    if soft >= 65_536 {
        return Some(Advice::note("descriptors", Severity::Fine, found));
    }
    Some(
        Advice::note("descriptors", Severity::Warning, found)
            .because("wrk, ab and h2load do not raise their own limit; beyond it connections fail, and that looks like the server's fault")
            .fix(format!("ulimit -n {}", hard.min(1 << 20))),
    )
}

fn rate(tree: &Tree) -> Option<Advice> {
    let ports = outgoing::ports_free(tree)?;
    Some(
        Advice::note("keep-alive", Severity::Note, format!("without keep-alive one address allows {} new connections a second", ports / 60))
            .because(format!("who closes first keeps a port for 60 s, and there are {ports}: ab without -k meets this before any server's limit"))
            .fix("ab -k, or several addresses of the server (127.0.0.1, 127.0.0.2, …); let the server close where connections are what you measure"),
    )
}

fn cores(tree: &Tree) -> Option<Advice> {
    let text = tree.text("proc/stat")?;
    let cores = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    let found = format!("{cores} cores");
    if cores >= 4 {
        return Some(
            Advice::note("generator", Severity::Note, found)
                .because("ab uses one of them, whatever -c says: look at its CPU before you believe a rate")
                .fix("wrk -t or h2load -t with a thread for each core that the server does not have"),
        );
    }
    Some(
        Advice::note("generator", Severity::Warning, found)
            .because("server and generator share them: what is measured is both together")
            .fix("another machine for the generator, or taskset for both, and say so beside the figures"),
    )
}

fn omission() -> Advice {
    Advice::note("coordinated omission", Severity::Note, "wrk, ab and Locust wait for an answer before they ask again")
        .because("while the server stands still nobody asks, so that the slowest moments are hardly in the percentiles")
        .fix("a constant rate: h2load --rps, wrk2 -R; and read p99 from that")
}
