//! What the doctor says of machines that are planted as files.

mod hardware;
mod opcache;

use super::*;
use crate::master::testing::Directory;

/// A machine with these files, where everything else is missing.
fn machine(files: &[(&str, &str)]) -> (Directory, Tree) {
    let directory = Directory::new();
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let tree = Tree::new(directory.path());
    (directory, tree)
}

fn plan() -> Plan {
    Plan {
        workers: 4,
        connections: 10_000,
        running: 1_000,
        tasks: 1_000,
        backlog: 1_024,
        shares_php: true,
        stays_loaded: true,
        is_tls: false,
        idle_timeout_ms: 60_000,
        spool_bytes: 1 << 30,
        ports: vec![8080],
        logs: Vec::new(),
        is_development: false,
        code: Vec::new(),
    }
}

/// What is said of one subject.
fn of<'a>(all: &'a [Advice], subject: &str) -> &'a Advice {
    all.iter().find(|advice| advice.subject == subject).unwrap_or_else(|| panic!("{subject}: {all:#?}"))
}

/// What is said of one subject of a machine with these files.
fn said(files: &[(&str, &str)], subject: &str) -> Advice {
    let (_directory, tree) = machine(files);
    of(&of_server(&tree, &plan()), subject).clone()
}

/// Whether nothing is said of it but that it is fine.
fn is_silent(files: &[(&str, &str)], subject: &str) -> bool {
    let (_directory, tree) = machine(files);
    let all = of_server(&tree, &plan());
    all.iter().all(|advice| advice.subject != subject || advice.severity == Severity::Fine)
}

fn limits(soft: &str, hard: &str) -> String {
    format!(
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max processes             100000               100000               processes \n\
         Max open files            {soft:<20} {hard:<20} files     \n"
    )
}

const LIMITS: &str = "proc/self/limits";

#[test]
fn an_empty_machine_has_no_findings_and_each_remedy_is_said() {
    let (_directory, tree) = machine(&[]);
    assert_eq!(of_server(&tree, &plan()), []);
    let (_directory, tree) =
        machine(&[(LIMITS, &limits("64", "64")), ("proc/sys/net/core/somaxconn", "128")]);
    for advice in of_server(&tree, &plan()).iter().filter(|advice| advice.severity >= Severity::Warning) {
        assert!(!advice.why.is_empty() && !advice.fix.is_empty(), "{advice:?}");
    }
}

#[test]
fn descriptors_are_raised_where_they_were_set() {
    let few = limits("1024", "1024");
    let advice = said(&[(LIMITS, &few)], "descriptors");
    assert_eq!(
        (advice.severity, advice.found.contains("room for 756 connections")),
        (Severity::Serious, true)
    );
    assert!(
        advice.fix.starts_with("ulimit -Hn 10268") && advice.keep.contains("/etc/security/limits.d"),
        "{advice:?}"
    );
    let unit = ("proc/self/cgroup", "0::/system.slice/weft.service\n");
    assert!(
        said(&[(LIMITS, &few), unit], "descriptors")
            .fix
            .contains("systemctl edit weft.service: [Service] LimitNOFILE=10268")
    );
    let container = [(LIMITS, &few[..]), (".dockerenv", ""), ("proc/sys/fs/nr_open", "8000")];
    let advice = said(&container, "descriptors");
    assert!(
        advice.fix.contains("--ulimit nofile=10268:10268 (fs.nr_open, now 8000, bounds it"),
        "{advice:?}"
    );
    assert_eq!(said(&[(LIMITS, &limits("1024", "8000"))], "descriptors").severity, Severity::Warning);
    for enough in ["10268", "unlimited"] {
        assert!(is_silent(&[(LIMITS, &limits("1024", enough))], "descriptors"));
    }
    let full = [("proc/sys/fs/file-max", "50000"), ("proc/sys/fs/file-nr", "12000 0 50000")];
    assert!(said(&full, "fs.file-max").fix.contains("fs.file-max='94144'"));
}

#[test]
fn stacks_are_predicted_by_mappings() {
    let few = [("proc/sys/vm/max_map_count", "5530")];
    let advice = said(&few, "vm.max_map_count");
    assert!(
        advice.found.contains("room for 1488 coroutines") && advice.fix.contains("vm.max_map_count='8444'"),
        "{advice:?}"
    );
    assert!(is_silent(&[("proc/sys/vm/max_map_count", "65530")], "vm.max_map_count"));
}

#[test]
fn memory_is_predicted_and_the_group_counts() {
    let large = ("proc/meminfo", "MemTotal:       16777216 kB\n");
    let advice = said(&[large], "memory");
    assert_eq!(advice.severity, Severity::Fine);
    assert!(advice.found.starts_with("16 GiB of memory: beside 4 workers room for 3"), "{advice:?}");
    let group = [large, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "402653184")];
    let advice = said(&group, "memory");
    assert_eq!(advice.severity, Severity::Note, "{advice:?}");
    assert!(
        advice.found.starts_with("384 MiB") && advice.fix.starts_with("connections_max = 3"),
        "{advice:?}"
    );
    let tiny = [large, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "134217728")];
    assert_eq!(said(&tiny, "memory").severity, Severity::Serious);
    let low = [large, ("proc/sys/net/ipv4/tcp_mem", "4096 8192 16384")];
    let advice = said(&low, "net.ipv4.tcp_mem");
    assert!(
        advice.found.starts_with("64 MiB for the data of all TCP connections: room for 4096"),
        "{advice:?}"
    );
    assert!(is_silent(&[large, ("proc/sys/net/ipv4/tcp_mem", "188697 251598 377394")], "net.ipv4.tcp_mem"));
    let pids = [
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/a/pids.max", "100"),
        ("sys/fs/cgroup/a/b/pids.max", "max"),
    ];
    assert_eq!(said(&pids, "processes").severity, Severity::Serious);
}

#[test]
fn queues_of_new_connections() {
    assert!(
        said(&[("proc/sys/net/core/somaxconn", "128")], "net.core.somaxconn")
            .fix
            .contains("net.core.somaxconn='1024'")
    );
    let floods =
        [("proc/sys/net/ipv4/tcp_max_syn_backlog", "128"), ("proc/sys/net/ipv4/tcp_syncookies", "0")];
    assert_eq!(said(&floods, "net.ipv4.tcp_syncookies").severity, Severity::Warning);
    let cookies = [floods[0], ("proc/sys/net/ipv4/tcp_syncookies", "1")];
    assert_eq!(said(&cookies, "net.ipv4.tcp_max_syn_backlog").severity, Severity::Note);
    let netstat =
        "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 7 9\nIpExt: InNoRoutes\nIpExt: 0\n";
    assert!(
        said(&[("proc/net/netstat", netstat)], "accept queues")
            .found
            .starts_with("9 new connections were dropped since boot, 7")
    );
    assert!(is_silent(&[("proc/net/netstat", &netstat.replace("7 9", "0 0"))], "accept queues"));
    assert_eq!(
        said(&[("proc/sys/net/ipv4/tcp_migrate_req", "0")], "net.ipv4.tcp_migrate_req").severity,
        Severity::Note
    );
}

const RANGE: (&str, &str) = ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");

#[test]
fn ports_are_counted_less_those_that_are_reserved() {
    let (_directory, tree) =
        machine(&[RANGE, ("proc/sys/net/ipv4/ip_local_reserved_ports", "30000-40000,50000,61000\n")]);
    assert_eq!(outgoing::ports_free(&tree), Some(28_232 - 7_233 - 1));
    assert!(is_silent(&[RANGE], "ports"));
    let few = [("proc/sys/net/ipv4/ip_local_port_range", "50000 60000")];
    assert!(said(&few, "ports").found.starts_with("10001 connections at once"));
}

#[test]
fn ended_connections_are_counted_by_where_they_went() {
    let head = "  sl  local_address rem_address   st tx_queue rx_queue\n".to_owned();
    let line = |port: u32, peer: &str, state: &str| {
        format!("   0: 0100007F:{port:04X} {peer} {state} 00000000:00000000\n")
    };
    let ended: String = (0..1_500).map(|at| line(32_768 + at, "0500000A:0CEA", "06")).collect();
    // Those that came to this machine have its well-known port.
    let accepted: String =
        (0..3_000).map(|at| format!("   0: 0100007F:1F90 0900000A:{:04X} 06 0:0\n", 40_000 + at)).collect();
    let tcp = head + &ended + &accepted + &line(50_000, "0500000A:0CEA", "01");
    let advice = said(&[RANGE, ("proc/net/tcp", &tcp)], "TIME_WAIT");
    assert!(
        advice
            .found
            .starts_with("1500 ended connections to 10.0.0.5:3306 keep their ports for a minute, 1 are open"),
        "{advice:?}"
    );
    assert_eq!(advice.severity, Severity::Warning);
    let narrow = ("proc/sys/net/ipv4/ip_local_port_range", "32768 34767");
    assert_eq!(said(&[narrow, ("proc/net/tcp", &tcp)], "TIME_WAIT").severity, Severity::Serious);
    let mapped =
        "head\n 0: 0000000000000000FFFF00000100007F:9C40 0000000000000000FFFF00000500000A:0CEA 01 0:0\n";
    let (_directory, tree) = machine(&[RANGE, ("proc/net/tcp6", mapped)]);
    assert_eq!(outgoing::census(&tree), [("10.0.0.5:3306".parse().unwrap(), 0, 1)]);
    let stamps = [("proc/sys/net/ipv4/tcp_tw_reuse", "2"), ("proc/sys/net/ipv4/tcp_timestamps", "0")];
    assert_eq!(said(&stamps, "net.ipv4.tcp_timestamps").severity, Severity::Warning);
    let orphans = [
        ("proc/net/sockstat", "sockets: used 9\nTCP: inuse 1 orphan 600 tw 0 alloc 1 mem 1\n"),
        ("proc/sys/net/ipv4/tcp_max_orphans", "1000"),
    ];
    assert!(said(&orphans, "orphans").found.starts_with("600 connections"));
}

#[test]
fn aged_advice_is_named_with_its_file_and_line() {
    let files = [
        (
            "etc/sysctl.conf",
            "# net.ipv4.tcp_tw_recycle = 1\nnet.ipv4.ip_forward=1\nnet.ipv4.tcp_tw_recycle = 1\n",
        ),
        (
            "etc/sysctl.d/99-tuning.conf",
            "-net/ipv4/tcp_max_tw_buckets=5000\nnet.ipv4.tcp_fin_timeout = 10\n; x = 1\nno sense\n",
        ),
        ("etc/sysctl.d/README", "net.ipv4.tcp_sack=0\n"),
        (
            "usr/lib/sysctl.d/50-own.conf",
            "net.ipv4.route.max_size = 8048576\nnet.ipv4.tcp_fin_timeout = 60\n",
        ),
    ];
    let (_directory, tree) = machine(&files);
    let found: Vec<String> = aged::examine(&tree).into_iter().map(|advice| advice.found).collect();
    assert_eq!(
        found,
        [
            "/etc/sysctl.conf:3: net.ipv4.tcp_tw_recycle = 1",
            "/etc/sysctl.d/99-tuning.conf:1: net.ipv4.tcp_max_tw_buckets = 5000",
            "/etc/sysctl.d/99-tuning.conf:2: net.ipv4.tcp_fin_timeout = 10",
            "/usr/lib/sysctl.d/50-own.conf:1: net.ipv4.route.max_size = 8048576",
        ]
    );
    let advice = said(&files, "net.ipv4.tcp_max_tw_buckets");
    assert!(
        advice.severity == Severity::Warning
            && advice.fix.starts_with("sed -i 1d /etc/sysctl.d/99-tuning.conf"),
        "{advice:?}"
    );
}

#[test]
fn processors_that_are_fewer_than_they_seem() {
    let group = ("proc/self/cgroup", "0::/a\n");
    assert!(
        said(&[group, ("sys/fs/cgroup/a/cpu.max", "150000 100000\n")], "cpu.max")
            .fix
            .starts_with("workers = 2 in [server]")
    );
    assert!(is_silent(&[group, ("sys/fs/cgroup/a/cpu.max", "max 100000\n")], "cpu.max"));
    assert_eq!(
        said(&[("proc/self/status", "Cpus_allowed_list:\t0-1\n")], "workers").severity,
        Severity::Warning
    );
    assert!(is_silent(&[("proc/self/status", "Cpus_allowed_list:\t0-3\n")], "workers"));
    let stat = "usage_usec 1\nnr_periods 1000\nnr_throttled 250\nthrottled_usec 1500000\n";
    assert!(
        said(&[group, ("sys/fs/cgroup/a/cpu.stat", stat)], "cpu.stat")
            .found
            .starts_with("throttled in 25 % of 1000 periods, for 1.5 s")
    );
    assert_eq!(
        said(&[("proc/stat", "cpu  100 0 100 700 0 0 0 100 0 0\n")], "steal").severity,
        Severity::Warning
    );
    assert!(is_silent(&[("proc/stat", "cpu  100 0 100 799 0 0 0 1 0 0\n")], "steal"));
    let place = "sys/devices/system/clocksource/clocksource0";
    let (current, others) =
        (format!("{place}/current_clocksource"), format!("{place}/available_clocksource"));
    assert!(
        said(&[(&current, "hpet\n"), (&others, "tsc hpet\n")], "clocksource").fix.starts_with("echo tsc")
    );
    assert!(is_silent(&[(&current, "tsc\n")], "clocksource"));
    let governor = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    assert_eq!(said(&[(governor, "powersave\n")], "cpufreq").severity, Severity::Warning);
    let pressure =
        "some avg10=0.00 avg60=9.00 avg300=9.00 total=1\nfull avg10=0.00 avg60=3.00 avg300=4.00 total=1\n";
    assert!(said(&[("proc/pressure/memory", pressure)], "memory pressure").found.starts_with("for 4 %"));
}

#[test]
fn what_lies_between_a_connection_and_its_socket() {
    let tracked = |count| {
        [
            ("proc/sys/net/netfilter/nf_conntrack_count", count),
            ("proc/sys/net/netfilter/nf_conntrack_max", "65536"),
        ]
    };
    assert!(is_silent(&tracked("100"), "conntrack"));
    let advice = said(&tracked("60000"), "conntrack");
    assert!(advice.severity == Severity::Serious && advice.why.contains("ports 8080"), "{advice:?}");
    let softnet = "00000fff 00000002 00000001 00000000\n00000001 00000000 00000000\n";
    assert!(
        said(&[("proc/net/softnet_stat", softnet)], "softnet")
            .found
            .starts_with("of 4096 packets since boot 2 were dropped")
    );
    assert_eq!(said(&[("sys/class/net/lo/mtu", "1500")], "lo").severity, Severity::Note);
    let (_directory, tree) = machine(&[("proc/sys/net/ipv4/tcp_keepalive_time", "7200")]);
    let idle = Plan { idle_timeout_ms: 0, ..plan() };
    assert_eq!(of(&of_server(&tree, &idle), "net.ipv4.tcp_keepalive_time").severity, Severity::Note);
    assert!(is_silent(&[("proc/sys/net/ipv4/tcp_keepalive_time", "7200")], "net.ipv4.tcp_keepalive_time"));
}

#[test]
fn where_files_go() {
    let mounts = "/dev/a / ext4 rw 0 0\nshm /dev/shm tmpfs rw,size=65536k 0 0\ntmpfs /tmp tmpfs rw,size=1g 0 0\nfiler:/x /var/log nfs4 rw 0 0\n";
    let mounts = [("proc/self/mounts", mounts), ("proc/meminfo", "MemTotal: 16777216 kB\n")];
    assert!(said(&mounts, "/dev/shm").found.ends_with("has 64 MiB"));
    assert!(said(&mounts, "/tmp").why.contains("up to 4 GiB"));
    let (_directory, tree) = machine(&mounts);
    let logs = Plan { logs: vec!["/var/log/weft/access.log".into(), "/var/log2".into()], ..plan() };
    let all = of_server(&tree, &logs);
    assert_eq!(of(&all, "log").found, "/var/log/weft/access.log is on nfs4");
    assert_eq!(all.iter().filter(|advice| advice.subject == "log").count(), 1);
}

#[test]
fn how_names_are_looked_up() {
    let slow = [("etc/resolv.conf", "nameserver 10.0.0.1\nnameserver 10.0.0.2\n")];
    assert!(said(&slow, "resolv.conf").found.contains("up to 20 s (2 servers, 2 attempts of 5 s)"));
    assert!(is_silent(
        &[("etc/resolv.conf", "nameserver 127.0.0.53\noptions edns0 timeout:1 attempts:3\n")],
        "resolv.conf"
    ));
    assert!(
        said(&[("etc/nsswitch.conf", "hosts: files mdns4_minimal dns\n")], "nsswitch.conf")
            .found
            .contains("mdns4_minimal")
    );
}

#[test]
fn settings_of_php() {
    let none: &dyn Fn(&str) -> String = &|_| String::new();
    let all = of_php(&Php { extensions: &[], setting: none }, &plan(), None);
    assert_eq!(of(&all, "opcache").severity, Severity::Warning);
    let loaded = ["Zend OPcache".to_owned(), "xdebug".to_owned()];
    let setting = |name: &str| {
        let value = match name {
            "opcache.enable" | "opcache.validate_timestamps" | "opcache.jit" => "1",
            "opcache.memory_consumption" => "64",
            "opcache.max_accelerated_files" => "2000",
            "opcache.jit_buffer_size" => "0",
            "memory_limit" => "128M",
            "session.save_handler" => "files",
            "realpath_cache_size" => "16k",
            _ => "",
        };
        value.to_owned()
    };
    let all = of_php(&Php { extensions: &loaded, setting: &setting }, &plan(), None);
    for subject in [
        "opcache.memory_consumption",
        "opcache.max_accelerated_files",
        "opcache.jit",
        "session.save_handler",
        "realpath_cache_size",
    ] {
        assert_eq!(of(&all, subject).severity, Severity::Note, "{subject}");
    }
    assert!(
        of(&all, "memory_limit").why.contains("1000 requests share it in coroutine mode: 131.1 KiB each")
    );
    assert_eq!(of(&all, "extensions").found, "xdebug is loaded");
    let classic = Plan { shares_php: false, ..plan() };
    let all = of_php(&Php { extensions: &loaded, setting: &setting }, &classic, None);
    assert!(of(&all, "opcache.validate_timestamps").fix.contains("weft reload"));
    assert!(!all.iter().any(|advice| advice.subject == "memory_limit"));
}

#[test]
fn a_machine_that_makes_load() {
    let (_directory, tree) = machine(&[
        (LIMITS, &limits("1024", "1048576")),
        RANGE,
        ("proc/stat", "cpu  1 1\ncpu0 1 1\ncpu1 1 1\n"),
    ]);
    let all = of_client(&tree);
    assert_eq!(
        (of(&all, "descriptors").severity, &of(&all, "descriptors").fix[..]),
        (Severity::Warning, "ulimit -n 1048576")
    );
    assert!(of(&all, "keep-alive").found.contains("allows 470 new connections a second"));
    assert_eq!(of(&all, "generator").severity, Severity::Warning);
    assert!(of(&all, "coordinated omission").fix.contains("h2load --rps"));
}

#[test]
fn the_worst_is_first_and_the_start_tells_it() {
    let (_directory, tree) =
        machine(&[(LIMITS, &limits("64", "64")), ("proc/sys/net/core/somaxconn", "128")]);
    let subjects: Vec<_> = at_start(&tree, &plan()).iter().map(|advice| advice.subject).collect();
    assert_eq!(subjects[..2], ["descriptors", "net.core.somaxconn"]);
}

#[test]
fn this_machine_is_read_without_a_failure() {
    let tree = Tree::new("/");
    let all = of_server(&tree, &plan());
    for subject in ["descriptors", "memory"] {
        of(&all, subject);
    }
    assert!(of_client(&tree).len() > 1);
}
