//! The queues in which new connections stand before a worker accepts them.
//!
//! Must not know what becomes of accepted ones. Invariant: what was lost is told only as the kernel counted it.

use super::advice::{Advice, Severity};
use super::plan::Plan;
use super::tree::Tree;

pub fn examine(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    [backlog(tree, plan), handshakes(tree, plan), lost(tree), moved(tree, plan)]
        .into_iter()
        .flatten()
        .collect()
}

fn backlog(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let kernel = tree.sysctl("net.core.somaxconn")?;
    let found = format!("an accept queue has {} places", kernel.min(plan.backlog));
    if kernel >= plan.backlog {
        return Some(Advice::note("net.core.somaxconn", Severity::Fine, found));
    }
    let why = format!(
        "the kernel cuts backlog = {} to {kernel}: a burst beyond it has to try again, after a second",
        plan.backlog
    );
    Some(
        Advice::note("net.core.somaxconn", Severity::Warning, found)
            .because(why)
            .sysctl("net.core.somaxconn", plan.backlog),
    )
}

fn handshakes(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let half_open = tree.sysctl("net.ipv4.tcp_max_syn_backlog")?;
    let cookies = tree.sysctl("net.ipv4.tcp_syncookies")?;
    if cookies == 0 {
        let found = "net.ipv4.tcp_syncookies = 0: a flood of SYN segments keeps everybody out";
        return Some(
            Advice::note("net.ipv4.tcp_syncookies", Severity::Warning, found)
                .because(format!("{half_open} connections that never complete fill the queue of an address"))
                .sysctl("net.ipv4.tcp_syncookies", 1),
        );
    }
    (half_open < plan.backlog.min(1_024)).then(|| {
        let found = format!("{half_open} connections may be half open at an address");
        Advice::note("net.ipv4.tcp_max_syn_backlog", Severity::Note, found)
            .because(
                "beyond that the kernel answers with SYN cookies, which lose options such as window scaling",
            )
            .sysctl("net.ipv4.tcp_max_syn_backlog", plan.backlog.max(1_024))
    })
}

fn lost(tree: &Tree) -> Option<Advice> {
    let (drops, overflows) =
        (tree.counter("TcpExt:", "ListenDrops")?, tree.counter("TcpExt:", "ListenOverflows")?);
    (drops > 0).then(|| {
        let found = format!("{drops} new connections were dropped since boot, {overflows} of them because an accept queue was full");
        Advice::note("accept queues", if overflows > 0 { Severity::Warning } else { Severity::Note }, found)
            .because("their clients have waited a second or more; it may have been another program's queue")
            .fix("watch nstat -az TcpExtListenOverflows; if it grows, raise backlog in [server] and net.core.somaxconn")
    })
}

fn moved(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let migrates = tree.sysctl("net.ipv4.tcp_migrate_req")?;
    (migrates == 0 && plan.workers > 1).then(|| {
        Advice::note("net.ipv4.tcp_migrate_req", Severity::Note, "0: connections stay with the queue they came to")
            .because("the master keeps the queues of its workers, so that only a change of the number of workers loses some")
            .sysctl("net.ipv4.tcp_migrate_req", 1)
    })
}
