//! The processors: how many this process may use, and who else does.
//!
//! Must not know what is computed. Invariant: quotas are those of control groups v2.

use super::advice::{Advice, Severity};
use super::cores;
use super::plan::Plan;
use super::tree::Tree;

pub fn examine(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    let mut all = quota(tree, plan);
    all.extend(
        [throttled(tree), governor(tree), stolen(tree), clock_source(tree), pressure(tree)]
            .into_iter()
            .flatten(),
    );
    all
}

fn quota(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    let allowed = cores::allowed(tree).len() as u64;
    let quota = |text: &String| {
        let mut words = text.split_ascii_whitespace().map(|word| word.parse::<f64>().ok());
        Some(words.next()?? / words.next()??)
    };
    let quota = tree.of_groups("cpu.max").iter().filter_map(quota).min_by(f64::total_cmp);
    let mut all = Vec::new();
    if let Some(quota) = quota
        && (plan.workers as f64) > quota.ceil().max(1.0) * 1.5
        && plan.shares_php
    {
        let found = format!("{} workers share {quota:.1} cores (cpu.max of the control group)", plan.workers);
        let why = "when these are used up, all workers stand still for the rest of each period of 100 ms";
        let fix = format!("workers = {} in [server], or no more than one per core", quota.ceil().max(1.0));
        all.push(Advice::note("cpu.max", Severity::Warning, found).because(why).fix(fix));
    } else if allowed > 0 && plan.workers > allowed && plan.shares_php {
        let found = format!("{} workers on {allowed} cores", plan.workers);
        let why = "a worker in coroutine mode uses a whole core; more of them take turns, which costs switches and time";
        all.push(
            Advice::note("workers", Severity::Warning, found)
                .because(why)
                .fix("workers = \"auto\" in [server]"),
        );
    } else if allowed > 0 {
        all.push(Advice::note(
            "workers",
            Severity::Fine,
            format!("{} workers on {allowed} cores", plan.workers),
        ));
    }
    all
}

fn throttled(tree: &Tree) -> Option<Advice> {
    let texts = tree.of_groups("cpu.stat");
    let value = |name: &str| {
        let of =
            |text: &String| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        texts.iter().find_map(of)
    };
    let (periods, throttled, micros) =
        (value("nr_periods ")?, value("nr_throttled ")?, value("throttled_usec ")?);
    (throttled > 0 && throttled * 100 >= periods).then(|| {
        let part = throttled * 100 / periods.max(1);
        let found = format!("throttled in {part} % of {periods} periods, for {:.1} s in all", micros as f64 / 1e6);
        Advice::note("cpu.stat", Severity::Warning, found)
            .because("requests stand still meanwhile, for up to 100 ms at a time: this is what p99 shows first")
            .fix("raise CPUQuota of the unit, or the limit of the container; or use cpu.weight, which does not throttle")
    })
}

fn governor(tree: &Tree) -> Option<Advice> {
    let text = tree.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?;
    let governor = text.trim();
    (governor == "powersave" && !tree.has("sys/devices/system/cpu/intel_pstate")).then(|| {
        Advice::note("cpufreq", Severity::Warning, format!("the governor of the processors is {governor}"))
            .because("it keeps them at their lowest frequency under any load")
            .fix("cpupower frequency-set -g schedutil")
    })
}

fn stolen(tree: &Tree) -> Option<Advice> {
    let text = tree.text("proc/stat")?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let (stolen, all) = (*times.get(7)?, times.iter().take(8).sum::<u64>());
    (stolen * 50 > all).then(|| {
        let part = stolen * 100 / all.max(1);
        Advice::note(
            "steal",
            Severity::Warning,
            format!("{part} % of the processors' time since boot went to other virtual machines"),
        )
        .because("the host has sold more than it has; no setting of this machine helps")
        .fix("another host, or a machine with processors of its own")
    })
}

fn clock_source(tree: &Tree) -> Option<Advice> {
    let place = "sys/devices/system/clocksource/clocksource0";
    let text = tree.text(&format!("{place}/current_clocksource"))?;
    let (source, others) =
        (text.trim(), tree.text(&format!("{place}/available_clocksource")).unwrap_or_default());
    let is_slow = matches!(source, "hpet" | "acpi_pm" | "jiffies" | "xen" | "refined-jiffies");
    is_slow.then(|| {
        let fix = if others.contains("tsc") { format!("echo tsc > /{place}/current_clocksource") } else { String::new() };
        let keep = if fix.is_empty() { String::new() } else { "clocksource=tsc on the kernel's command line".to_owned() };
        let why = "each look at the clock is a system call of a microsecond or more, and PHP and databases look often";
        Advice { fix, keep, ..Advice::note("clocksource", Severity::Warning, format!("the kernel takes its time from {source}")).because(why) }
    })
}

fn pressure(tree: &Tree) -> Option<Advice> {
    let text = tree.text("proc/pressure/memory")?;
    let line = text.lines().find(|line| line.starts_with("full"))?;
    let part: f64 =
        line.split_ascii_whitespace().find_map(|word| word.strip_prefix("avg300="))?.parse().ok()?;
    (part >= 1.0).then(|| {
        Advice::note(
            "memory pressure",
            Severity::Warning,
            format!("for {part:.0} % of the last five minutes everything waited for memory"),
        )
        .because("the machine reads pages again that it has just dropped: more memory, or fewer workers")
        .fix("lower workers or instances_max, or add memory")
    })
}
