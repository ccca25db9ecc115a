//! How many connections and coroutines this machine holds, and before which limit.
//!
//! Must not know what else is wrong with it. Invariant: each prediction names its limit, and what a connection or a coroutine is
//! taken to cost; BENCHMARKING.md has measured both.

use super::advice::{Advice, Severity};
use super::plan::Plan;
use super::tree::Tree;

/// Bytes of the kernel for an idle TCP connection: its slabs, without data.
const KERNEL_CONNECTION: u64 = 5_018;
/// Bytes of weft for one, without and with TLS.
const OWN_CONNECTION: u64 = 113;
const TLS_CONNECTION: u64 = 5_734;
/// Resident bytes and page tables of a request that waits.
const COROUTINE: u64 = 15_872;
/// Bytes of a worker beside them: PHP, an application of middling size.
const WORKER: u64 = 64 << 20;
/// Mappings of a stack, and of everything else in a process.
const MAPPINGS_PER_STACK: u64 = 2;
const MAPPINGS_BESIDE: u64 = 2_000;
/// Unsent or unread bytes of a connection with a client that is slow.
const SLOW_BYTES: u64 = 16 << 10;
const PAGE: u64 = 4_096;

pub fn examine(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    [
        descriptors(tree, plan),
        all_files(tree, plan),
        mappings(tree, plan),
        memory(tree, plan),
        socket_memory(tree, plan),
        processes(tree, plan),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn descriptors(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let (soft, hard) = tree.limit("Max open files")?;
    let (needed, room) = (plan.descriptors(), hard.saturating_sub(plan.descriptors_beside()));
    let found = format!(
        "{hard} descriptors for each worker (soft limit {soft}, which weft raises): room for {room} connections"
    );
    if hard >= needed {
        return Some(Advice::note("descriptors", Severity::Fine, found));
    }
    // Fewer connections than requests that could run: that many clients cannot even come.
    let severity = if room < plan.running { Severity::Serious } else { Severity::Warning };
    let why = format!(
        "connections_max is {}: beyond {room} a worker accepts no more, whatever else it has",
        plan.connections
    );
    let advice = Advice::note("descriptors", severity, found).because(why);
    let ceiling = tree.sysctl("fs.nr_open").filter(|open| *open < needed);
    let above = ceiling
        .map_or(String::new(), |open| format!(" (fs.nr_open, now {open}, bounds it: raise that first)"));
    Some(match tree.unit() {
        Some(unit) => Advice {
            fix: format!("systemctl edit {unit}: [Service] LimitNOFILE={needed}{above}"),
            keep: format!("systemctl restart {unit}"),
            ..advice
        },
        None if tree.is_container() => Advice {
            fix: format!("start the container with --ulimit nofile={needed}:{needed}{above}"),
            ..advice
        },
        None => Advice {
            fix: format!("ulimit -Hn {needed}, as root, in the shell that starts weft{above}"),
            keep: format!("echo '* hard nofile {needed}' >> /etc/security/limits.d/60-weft.conf"),
            ..advice
        },
    })
}

fn all_files(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let (max, open) = (tree.sysctl("fs.file-max")?, tree.sysctl("fs.file-nr")?);
    let needed = plan.descriptors() * plan.workers;
    (max.saturating_sub(open) < needed).then(|| {
        Advice::note(
            "fs.file-max",
            Severity::Warning,
            format!("{max} open files for the machine, {open} of them in use"),
        )
        .because(format!(
            "{} workers with {} descriptors each need {needed}",
            plan.workers,
            plan.descriptors()
        ))
        .sysctl("fs.file-max", open + 2 * needed)
    })
}

fn mappings(tree: &Tree, plan: &Plan) -> Option<Advice> {
    if !plan.shares_php {
        return None; // instances share the mappings of their worker
    }
    let max = tree.sysctl("vm.max_map_count")?;
    let stacks = (max / 10 * 9).saturating_sub(MAPPINGS_BESIDE) / MAPPINGS_PER_STACK;
    let found = format!("{max} mappings for a process: room for {stacks} coroutines in a worker, two each");
    let wanted = plan.running + plan.tasks;
    if stacks >= wanted {
        return Some(Advice::note("vm.max_map_count", Severity::Fine, found));
    }
    let why = format!(
        "coroutines_max and tasks_max are {} and {}: weft runs with fewer of both, and requests beyond wait",
        plan.running, plan.tasks
    );
    let needed = wanted * MAPPINGS_PER_STACK * 10 / 9 + 2 * MAPPINGS_BESIDE;
    Some(
        Advice::note("vm.max_map_count", Severity::Warning, found)
            .because(why)
            .sysctl("vm.max_map_count", needed),
    )
}

fn memory(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let bytes = tree.memory_bytes()?;
    let connection = KERNEL_CONNECTION + OWN_CONNECTION + if plan.is_tls { TLS_CONNECTION } else { 0 };
    let left = bytes.saturating_sub(plan.workers * WORKER);
    let (connections, parked) = (left / connection, left / (connection + COROUTINE));
    let found = format!(
        "{} of memory: beside {} workers room for {connections} idle connections, or for {parked} requests that wait",
        amount(bytes),
        plan.workers
    );
    let wanted = plan.workers * plan.connections;
    // Instances share what they have not changed; what they change is the application's.
    let running = if plan.shares_php { plan.workers * plan.running } else { 0 };
    let needed = plan.workers * WORKER + wanted * connection + running * COROUTINE;
    if needed <= bytes {
        return Some(Advice::note("memory", Severity::Fine, found));
    }
    let why = format!(
        "{} workers with connections_max = {} and {} requests that wait need {}, if all come at once: then the kernel kills a worker",
        plan.workers,
        plan.connections,
        plan.running,
        amount(needed)
    );
    let fit = left.saturating_sub(running * COROUTINE) / connection / plan.workers.max(1);
    let fix = if fit > 0 {
        format!("connections_max = {fit} in [limits], or more memory (memory.max of the control group)")
    } else {
        "fewer workers, a lower coroutines_max in [limits], or more memory (memory.max of the control group)"
            .to_owned()
    };
    let severity = if bytes < plan.workers * WORKER { Severity::Serious } else { Severity::Note };
    Some(Advice::note("memory", severity, found).because(why).fix(fix))
}

fn socket_memory(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let [_, _, max] = tree.sysctls("net.ipv4.tcp_mem")[..] else { return None };
    let slow = max * PAGE / SLOW_BYTES;
    let found = format!(
        "{} for the data of all TCP connections: room for {slow} with {} unsent or unread each",
        amount(max * PAGE),
        amount(SLOW_BYTES)
    );
    let machine = tree.memory("MemTotal:")?;
    // The kernel gives a little less than a tenth of the memory by itself.
    if max * PAGE >= machine / 16 {
        return Some(Advice::note("net.ipv4.tcp_mem", Severity::Fine, found));
    }
    let why = format!(
        "the kernel would have chosen about {}: somebody has lowered it, and {} connections share it",
        amount(machine / 11),
        plan.workers * plan.connections
    );
    let pages = machine / 11 / PAGE;
    let value = format!("{} {} {pages}", pages / 2, pages / 3 * 2);
    Some(
        Advice::note("net.ipv4.tcp_mem", Severity::Warning, found)
            .because(why)
            .sysctl("net.ipv4.tcp_mem", value),
    )
}

fn processes(tree: &Tree, plan: &Plan) -> Option<Advice> {
    // A worker has some threads: for calls without readiness, the ticker, the watch.
    const THREADS_PER_WORKER: u64 = 24;
    let groups = tree.of_groups("pids.max");
    let of_group = groups.iter().filter_map(|text| text.trim().parse::<u64>().ok()).min();
    let of_user = tree.limit("Max processes").map(|(soft, _)| soft);
    let max = [of_group, of_user, tree.sysctl("kernel.threads-max")].into_iter().flatten().min()?;
    let needed = (plan.workers + 2) * THREADS_PER_WORKER;
    (max < needed).then(|| {
        Advice::note("processes", Severity::Serious, format!("{max} threads and processes at most (pids.max, ulimit -u or threads-max)"))
            .because(format!("{} workers, with the threads of each, need up to {needed}", plan.workers))
            .fix(format!("TasksMax={needed} for a unit of systemd, --pids-limit {needed} for a container, or ulimit -u {needed}"))
    })
}

/// Bytes for people.
pub fn amount(bytes: u64) -> String {
    let scaled = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = scaled.into_iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or(format!("{bytes} bytes"), |(unit, name)| {
        let value = format!("{:.1}", bytes as f64 / unit as f64);
        format!("{} {name}", value.strip_suffix(".0").unwrap_or(&value))
    })
}
