//! What the doctor says of planted network cards and processors.
//!
//! Must not know PHP. Invariant: beside each finding stands a machine of which nothing is said.

use super::*;

const CARD: &str = "sys/class/net/eth0";

/// A card of a machine with four processors, of which two may be used, and further files.
fn with_card(more: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut files = vec![
        (format!("{CARD}/device/vendor"), "0x8086\n".to_owned()),
        (format!("{CARD}/queues/rx-0/rps_cpus"), "00000000,00000000\n".to_owned()),
        (format!("{CARD}/queues/tx-0/xps_cpus"), "0\n".to_owned()),
        (format!("{CARD}/statistics/rx_packets"), "1000000\n".to_owned()),
    ];
    files.extend(more.iter().map(|(path, text)| (path.replace("CARD", CARD), (*text).to_owned())));
    files
}

/// What is said of one subject of a machine with such a card.
fn of_card(more: &[(&str, &str)], subject: &str) -> Option<Advice> {
    let files = with_card(more);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&path[..], &text[..])).collect();
    let (_directory, tree) = machine(&files);
    of_server(&tree, &plan()).into_iter().find(|advice| advice.subject == subject)
}

#[test]
fn packets_that_a_card_has_lost_are_told() {
    assert_eq!(of_card(&[], "network card"), None);
    let few = of_card(&[("CARD/statistics/rx_missed_errors", "7")], "network card").unwrap();
    assert_eq!((few.severity, &few.found[..4]), (Severity::Note, "eth0"));
    let lost = [("CARD/statistics/rx_missed_errors", "900"), ("CARD/statistics/rx_fifo_errors", "900")];
    let lost = of_card(&lost, "network card").unwrap();
    assert_eq!(lost.severity, Severity::Warning);
    assert!(lost.found.contains("900 packets found its ring full, beside 1000000"), "{lost:?}");
    assert!(lost.fix.contains("ethtool -G eth0 rx") && lost.keep.contains("ExecStartPre=+"), "{lost:?}");
    assert_eq!(of_card(&[("CARD/statistics/rx_dropped", "1000")], "network card"), None);
    let dropped = of_card(&[("CARD/statistics/rx_dropped", "1001")], "network card").unwrap();
    assert!(dropped.severity == Severity::Note && dropped.fix.starts_with("ethtool -S eth0"), "{dropped:?}");
    // What has no hardware is a bridge, a tunnel, or one end of a container's.
    let bridge = ("sys/class/net/br0/statistics/rx_missed_errors", "900");
    assert_eq!(of_card(&[bridge], "network card"), None);
}

#[test]
fn queues_of_processors_and_turns_that_end_early_are_told_apart() {
    let stat = |text: &'static str| [("proc/net/softnet_stat", text)];
    let calm = "00000fff 00000000 00000003 00000000\n000003e8 00000000 00000001 00000000\n";
    assert!(is_silent(&stat(calm), "softnet") && is_silent(&stat(calm), "time_squeeze"));
    let dropped =
        "00000fff 00000000 0 0 0 0 0 0 0 0 0 0 00000000\n00000001 00000002 0 0 0 0 0 0 0 0 0 0 00000005\n";
    let advice = said(&stat(dropped), "softnet");
    assert_eq!(advice.found, "of 4096 packets since boot 2 were dropped, 2 of them at processor 5");
    assert!(advice.fix.contains("net.core.netdev_max_backlog='4000'"), "{advice:?}");
    assert!(is_silent(&stat(dropped), "time_squeeze"));
    let squeezed = [
        (
            "proc/net/softnet_stat",
            "00000fff 00000000 00000003 00000000\n000003e8 00000000 00000002 00000000\n",
        ),
        ("proc/sys/net/core/netdev_budget", "300\n"),
        ("proc/sys/net/core/netdev_budget_usecs", "8000\n"),
    ];
    let advice = said(&squeezed, "time_squeeze");
    assert!(advice.found.starts_with("processor 1 ended receiving early 2 times"), "{advice:?}");
    assert_eq!(
        advice.fix,
        "sysctl -w net.core.netdev_budget='600'; sysctl -w net.core.netdev_budget_usecs='16000'"
    );
    assert!(
        advice.keep.ends_with("echo 'net.core.netdev_budget_usecs = 16000' >> /etc/sysctl.d/60-weft.conf"),
        "{advice:?}"
    );
    assert!(is_silent(&squeezed, "softnet"));
}

/// /proc/interrupts with these counts of the card's queues on four processors.
fn interrupts(name: &str, counts: [u64; 4]) -> String {
    let [a, b, c, d] = counts;
    format!(
        "           CPU0       CPU1       CPU2       CPU3\n  0: 9999999 0 0 0 IO-APIC 2-edge timer\n\
         \x20 38: {a} {b} 0 0 PCI-MSIX-0000:00:03.0 1-edge {name}\n 39: 0 0 {c} {d} PCI-MSIX-0000:00:03.0 2-edge {name}\n\
         NMI: 0 0 0 0 Non-maskable interrupts\n"
    )
}

#[test]
fn interrupts_that_one_processor_takes_are_told() {
    let crowded = interrupts("eth0-TxRx-0", [9_000_000, 100_000, 0, 0]);
    let one = of_card(&[("proc/interrupts", &crowded)], "interrupts").unwrap();
    assert!(one.found.starts_with("eth0: 98 % of its 9100000 interrupts came to processor 0"), "{one:?}");
    assert_eq!(one.fix, "echo f > /sys/class/net/eth0/queues/rx-0/rps_cpus");
    assert!(one.keep.contains("weft.service: [Service] ExecStartPre=+/bin/sh -c 'echo f > "), "{one:?}");
    let many = [("proc/interrupts", &crowded[..]), ("CARD/queues/rx-1/rps_cpus", "0\n")];
    assert!(of_card(&many, "interrupts").unwrap().fix.contains("irqbalance"));
    let steered = [("proc/interrupts", &crowded[..]), ("CARD/queues/rx-0/rps_cpus", "0,0000000f\n")];
    assert_eq!(of_card(&steered, "interrupts"), None);
    let even = interrupts("eth0-TxRx-0", [3_000_000, 2_000_000, 3_000_000, 2_000_000]);
    assert_eq!(of_card(&[("proc/interrupts", &even)], "interrupts"), None);
    let idle = interrupts("eth0", [9_000, 0, 0, 0]);
    assert_eq!(of_card(&[("proc/interrupts", &idle)], "interrupts"), None);
    // A virtual card's have another name, and their numbers at its device; eth01 is another card.
    let other = interrupts("virtio2-input.0", [9_000_000, 0, 0, 0]);
    assert_eq!(of_card(&[("proc/interrupts", &other)], "interrupts"), None);
    assert!(
        of_card(&[("proc/interrupts", &other), ("CARD/device/msi_irqs/38", "msix\n")], "interrupts")
            .is_some()
    );
    let similar = interrupts("eth01", [9_000_000, 0, 0, 0]);
    assert_eq!(of_card(&[("proc/interrupts", &similar)], "interrupts"), None);
}

#[test]
fn a_mask_of_processors_has_groups_of_32() {
    for (processors, mask) in [(4, "f"), (32, "ffffffff"), (40, "ff,ffffffff"), (64, "ffffffff,ffffffff")] {
        assert_eq!(cards::mask(processors), mask);
    }
}

#[test]
fn a_card_at_another_node_is_told() {
    fn nodes<'a>(allowed: &'a str, card: &'a str) -> Vec<(&'static str, &'a str)> {
        vec![
            ("CARD/device/numa_node", card),
            ("sys/devices/system/node/node0/cpulist", "0-7\n"),
            ("sys/devices/system/node/node1/cpulist", "8-15\n"),
            ("sys/devices/system/node/possible", "0-1\n"),
            ("proc/self/status", allowed),
        ]
    }
    let far = of_card(&nodes("Cpus_allowed_list:\t0-7\n", "1\n"), "NUMA").unwrap();
    assert_eq!(far.severity, Severity::Warning);
    assert!(far.found.contains("node 1 (processors 8-15), weft may use processors 0-7"), "{far:?}");
    assert_eq!(far.fix, "taskset -c 8-15 weft serve …");
    let mut unit = nodes("Cpus_allowed_list:\t0-15\n", "1\n");
    unit.push(("proc/self/cgroup", "0::/system.slice/weft.service\n"));
    let fits = of_card(&unit, "NUMA").unwrap();
    assert_eq!((fits.severity, fits.keep.as_str()), (Severity::Note, "systemctl restart weft.service"));
    assert!(fits.fix.ends_with("weft.service: [Service] CPUAffinity=8-15"), "{fits:?}");
    for (allowed, card) in [("0-7", "0"), ("0-15", "-1"), ("0-9", "1")] {
        let status = format!("Cpus_allowed_list:\t{allowed}\n");
        assert_eq!(of_card(&nodes(&status, card), "NUMA"), None, "{allowed} {card}");
    }
    let one = [("CARD/device/numa_node", "0"), ("sys/devices/system/node/node0/cpulist", "0-3\n")];
    assert_eq!(of_card(&one, "NUMA"), None);
}

/// Four cores with two hardware threads each, 0 and 4 in the first, of which these may be used.
fn with_threads(allowed: &str) -> Option<Advice> {
    let mut files: Vec<(String, String)> = (0..8)
        .map(|cpu| {
            let place = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            (place, format!("{},{}\n", cpu % 4, cpu % 4 + 4))
        })
        .collect();
    files.push(("sys/devices/system/cpu/cpufreq/policy0".to_owned(), String::new()));
    files.push(("proc/self/status".to_owned(), format!("Cpus_allowed_list:\t{allowed}\n")));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&path[..], &text[..])).collect();
    let (_directory, tree) = machine(&files);
    of_server(&tree, &plan()).into_iter().find(|advice| advice.subject == "hardware threads")
}

#[test]
fn workers_on_both_threads_of_a_core_are_told_where_others_are_left() {
    let paired = with_threads("0-1,4-5").unwrap();
    assert!(
        paired.found.starts_with("processors 0-1,4-5 are hardware threads of 2 cores; the machine has 4"),
        "{paired:?}"
    );
    assert!(paired.fix.starts_with("taskset -c 0-3 weft serve"), "{paired:?}");
    assert_eq!(with_threads("0-3"), None, "a core each");
    assert_eq!(with_threads("0-7"), None, "all there are");
}
