//! Network cards: packets that found no room in a ring, who takes their interrupts, and which node they are at.
//!
//! Must not know addresses or connections. Invariant: only cards with hardware of their own (`device`) are looked at, and one that
//! loses nothing and is served evenly is not mentioned.

use super::advice::{Advice, Severity};
use super::cores;
use super::plan::Plan;
use super::tree::Tree;

/// Interrupts of a card below which it does not matter who takes them.
const INTERRUPTS_MIN: u64 = 1_000_000;
/// Processors from which on one of them can be the bottleneck of all others.
const PROCESSORS_MIN: usize = 4;

pub fn examine(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    let cards = tree.names("sys/class/net").into_iter().map(|name| Card { tree, name });
    let physical = cards.filter(|card| tree.has(&card.path("device")));
    physical
        .flat_map(|card| [card.overrun(), card.discarded(), card.crowded(plan), card.far(plan)])
        .flatten()
        .collect()
}

struct Card<'a> {
    tree: &'a Tree,
    name: String,
}

impl Card<'_> {
    fn path(&self, file: &str) -> String {
        format!("sys/class/net/{}/{file}", self.name)
    }

    /// A counter since the card came up (Documentation/ABI/testing/sysfs-class-net-statistics).
    fn counter(&self, name: &str) -> u64 {
        self.tree.number(&self.path(&format!("statistics/{name}"))).unwrap_or(0)
    }

    /// Packets that the card had to drop, since the kernel had not emptied its ring. Some drivers count them in both counters.
    fn overrun(&self) -> Option<Advice> {
        let lost = self.counter("rx_missed_errors").max(self.counter("rx_fifo_errors"));
        let (name, packets) = (&self.name, self.counter("rx_packets"));
        (lost > 0).then(|| {
            let found = format!("{name}: {lost} packets found its ring full, beside {packets} that it has received");
            let severity = if lost * 10_000 > packets { Severity::Warning } else { Severity::Note };
            let (say, grow) = (format!("ethtool -g {name}"), format!("ethtool -G {name} rx"));
            let fix = format!("{say} says how large its ring may be; {grow} with that maximum");
            let keep = self.at_start(&format!("{grow} MAXIMUM"));
            let why = "each is sent again after 200 ms at least, and all that follows on its connection waits for it";
            Advice { keep, ..Advice::note("network card", severity, found).because(why).fix(fix) }
        })
    }

    /// Packets that came, but that nobody wanted or had room for.
    fn discarded(&self) -> Option<Advice> {
        let (dropped, packets) = (self.counter("rx_dropped"), self.counter("rx_packets"));
        let name = &self.name;
        (dropped * 1_000 > packets).then(|| {
            Advice::note("network card", Severity::Note, format!("{name}: {dropped} of {packets} packets were dropped after it had received them"))
                .because("packets of a protocol that nobody speaks here count, too; those of connections are sent again, after 200 ms at least")
                .fix(format!("ethtool -S {name} | grep -i drop says which; if softnet is among these findings, begin there"))
        })
    }

    /// One processor takes the interrupts, and so handles all packets before any worker sees them.
    fn crowded(&self, plan: &Plan) -> Option<Advice> {
        let counts = self.interrupts();
        let total: u64 = counts.iter().sum();
        let (busiest, most) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
        let is_crowded = total >= INTERRUPTS_MIN && most * 10 >= total * 8;
        if !is_crowded || counts.len() < PROCESSORS_MIN || plan.workers < 2 || self.steers() {
            return None;
        }
        let (name, queues) = (&self.name, self.queues());
        let found =
            format!("{name}: {} % of its {total} interrupts came to processor {busiest}", most * 100 / total);
        let why = format!(
            "that processor handles the packets of all {} workers, before they see any: it is full while others are idle",
            plan.workers
        );
        let advice = Advice::note("interrupts", Severity::Warning, found).because(why);
        let [queue] = &queues[..] else {
            return Some(advice.fix(
                "apt install irqbalance: it spreads the queues over the processors, now and at each start",
            ));
        };
        // Documentation/networking/scaling.rst: with one queue, receive packet steering does in software what more queues would.
        let (file, mask) = (format!("queues/{queue}/rps_cpus"), mask(counts.len()));
        let fix = format!("echo {mask} > /sys/class/net/{name}/{file}");
        let keep = self.at_start(&fix);
        Some(Advice { keep, ..advice.fix(fix) })
    }

    /// The card forgets settings; the unit repeats them as root (`+`, systemd.service(5)). A rule of udev would have to know the name
    /// that the card had before it was renamed.
    fn at_start(&self, command: &str) -> String {
        let unit = self.tree.unit().unwrap_or_else(|| "weft.service".to_owned());
        format!("systemctl edit {unit}: [Service] ExecStartPre=+/bin/sh -c '{command}'")
    }

    fn queues(&self) -> Vec<String> {
        let mut queues = self.tree.names(&self.path("queues"));
        queues.retain(|queue| queue.starts_with("rx-"));
        queues
    }

    /// Whether the kernel hands received packets to other processors: a mask of them in hexadecimal.
    fn steers(&self) -> bool {
        let mask = |queue: &String| self.tree.text(&self.path(&format!("queues/{queue}/rps_cpus")));
        self.queues()
            .iter()
            .filter_map(mask)
            .any(|mask| mask.contains(|digit: char| digit.is_ascii_hexdigit() && digit != '0'))
    }

    /// Its interrupts by processor. The kernel names them in `msi_irqs`, which a virtual card's bus device has; others have their
    /// name in /proc/interrupts.
    fn interrupts(&self) -> Vec<u64> {
        let places =
            ["device/msi_irqs", "device/../msi_irqs"].map(|place| self.tree.names(&self.path(place)));
        let numbers: Vec<String> = places.into_iter().flatten().collect();
        let text = self.tree.text("proc/interrupts").unwrap_or_default();
        let processors = text.lines().next().map_or(0, |head| head.split_ascii_whitespace().count());
        let mut counts = vec![0; processors];
        for line in text.lines().skip(1) {
            let Some((number, rest)) = line.split_once(':') else { continue };
            let name = rest.split_ascii_whitespace().last().unwrap_or_default();
            let is_named =
                name.strip_prefix(&self.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
            if !is_named && !numbers.iter().any(|own| own == number.trim()) {
                continue;
            }
            let own = rest.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
            counts.iter_mut().zip(own).for_each(|(count, own)| *count += own);
        }
        counts
    }

    /// A card belongs to one node of memory and processors; others reach its packets through the connection between nodes.
    fn far(&self, plan: &Plan) -> Option<Advice> {
        let nodes = self.tree.names("sys/devices/system/node");
        let is_node =
            |name: &&String| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok());
        if nodes.iter().filter(is_node).count() < 2 {
            return None;
        }
        // -1, which is no number here, where the firmware does not say.
        let node = self.tree.number(&self.path("device/numa_node"))?;
        let near = cores::list(&self.tree.text(&format!("sys/devices/system/node/node{node}/cpulist"))?);
        let allowed = cores::allowed(self.tree);
        let usable: std::collections::BTreeSet<u32> = near.intersection(&allowed).copied().collect();
        if near.is_empty() || usable.len() == allowed.len() {
            return None;
        }
        let (severity, chosen) = match usable.len() {
            0 => (Severity::Warning, &near),
            count if plan.workers as usize <= count => (Severity::Note, &usable),
            _ => return None,
        };
        let found = format!(
            "{} is at node {node} (processors {}), weft may use processors {}",
            self.name,
            cores::listed(&near),
            cores::listed(&allowed)
        );
        let why = format!(
            "a worker at another node fetches each packet through the connection between the nodes; {} workers have room at this one",
            (plan.workers as usize).min(near.len())
        );
        let (fix, keep) = cores::pinned(self.tree, &cores::listed(chosen));
        Some(Advice { fix, keep, ..Advice::note("NUMA", severity, found).because(why) })
    }
}

/// A mask of so many processors, as the kernel reads it: groups of 32 bits in hexadecimal, the highest first.
pub(super) fn mask(processors: usize) -> String {
    let full = processors / 32;
    let rest = processors % 32;
    let first = (rest > 0).then(|| format!("{:x}", (1u64 << rest) - 1));
    first.into_iter().chain(std::iter::repeat_n("ffffffff".to_owned(), full)).collect::<Vec<_>>().join(",")
}
