//! What the doctor says of servers that have answered this.

use super::*;
use crate::doctor::databases::answer::Values;
use crate::master::testing::Directory;

fn plan() -> Plan {
    let config = crate::config::Config::default();
    Plan { workers: 4, running: 1_000, shares_php: true, stays_loaded: true, ..Plan::of(&config) }
}

fn target(url: &str) -> Target {
    Target::parse(url, |_| None).unwrap()
}

/// What is said of a server with these values, and which must not be said of one with `fine`.
fn said(url: &str, values: &[(&str, &str)], subject: &str) -> Option<Advice> {
    let directory = Directory::new();
    std::fs::create_dir_all(directory.path().join("proc/sys/net/core")).unwrap();
    std::fs::write(directory.path().join("proc/sys/net/core/somaxconn"), "128\n").unwrap();
    let answer = Answer::Values(Values::of(values));
    let all = judge(&target(url), &answer, &plan(), &Tree::new(directory.path()));
    for advice in all.iter().filter(|advice| advice.severity > Severity::Fine) {
        assert!(!advice.why.is_empty() && !advice.fix.is_empty(), "{advice:?}");
    }
    all.into_iter().find(|advice| advice.subject == subject)
}

const MYSQL: &str = "mysql://app:se-cret@db.example:3307/shop";

#[test]
fn a_url_says_where_and_who() {
    let parsed = target(MYSQL);
    assert_eq!(parsed.to_string(), "mysql at db.example:3307");
    assert_eq!(
        (&parsed.user[..], &parsed.password[..], &parsed.database[..], parsed.is_local()),
        ("app", "se-cret", "shop", false)
    );
    assert_eq!(format!("{parsed:?}"), "Target(mysql at db.example:3307)");
    let six = target("postgres://[::1]");
    assert_eq!((six.to_string().as_str(), six.is_local()), ("pgsql at [::1]:5432", true));
    let socket = target("pgsql+unix://a%40b:p%2Fq@/run/postgresql/.s.PGSQL.5433?database=x");
    assert_eq!((&socket.user[..], &socket.password[..], &socket.database[..]), ("a@b", "p/q", "x"));
    assert_eq!(socket.address(), ("/run/postgresql".to_owned(), 5433));
    assert_eq!(target("pgsql+unix:///run/postgresql").address(), ("/run/postgresql".to_owned(), 5432));
    assert_eq!(target("mysql+unix://root@/run/mysqld.sock").address(), ("/run/mysqld.sock".to_owned(), 0));
    assert_eq!(target("mysql://localhost").address(), ("127.0.0.1".to_owned(), 3306));
    assert!(target("rediss://h").is_tls && target("mysql://h?tls=1").is_tls && !target("redis://h").is_tls);
}

#[test]
fn a_password_comes_from_the_variable_of_the_servers_own_client() {
    let of = |url: &str| Target::parse(url, |name| Some(name.to_owned())).unwrap().password;
    assert_eq!(of("mysql://root@h"), "MYSQL_PWD");
    assert_eq!(of("pgsql://h"), "PGPASSWORD");
    assert_eq!(of("redis://h"), "REDISCLI_AUTH");
    assert_eq!(of("redis://:own@h"), "own");
}

#[test]
fn a_wrong_url_is_refused_without_repeating_it() {
    let wrong = [
        ("db.example", "is not mysql://"),
        ("oracle://u:se-cret@h", "is not mysql://"),
        ("mysql://u:se-cret@", "is not mysql://"),
        ("mysql://u:se-cret@h:0", "a port"),
        ("mysql://u:se-cret@h:70000", "a port"),
        ("mysql://u:se-cret@h;dbname=x", "a host"),
        ("mysql://u:se@cret@h", "%40"),
        ("mysql://u:se cret@h", "%20"),
        ("mysql://u:se-cret@h?ssl=se-cret", "an option"),
        ("mysql+unix://u:se-cret@h/run/x", "is not mysql://"),
    ];
    for (url, why) in wrong {
        let said = Target::parse(url, |_| None).unwrap_err();
        assert!(said.contains(why) && !said.contains("cret"), "{url}: {said}");
    }
}

#[test]
fn an_answer_is_values_or_a_reason_without_the_password() {
    let values = Answer::parse("noise\n\n{\"values\":{\"a\":\"1\",\"b\":2,\"ssl\":false}}\n");
    let Answer::Values(values) = values else { panic!("{values:?}") };
    assert_eq!((values.number("a"), values.number("b"), values.text("ssl")), (Some(1), Some(2), None));
    assert_eq!(Answer::parse("{\"extension\":\"redis\"}"), Answer::NoClient("redis".to_owned()));
    let failed = Answer::parse("{\"error\":\"no\\n\\tse-cret here\"}").without("se-cret");
    assert_eq!(failed, Answer::Failed("no … here".to_owned()));
    for nothing in ["", "Fatal error", "{}", "[1]"] {
        assert!(matches!(Answer::parse(nothing), Answer::Failed(_)), "{nothing}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_one_serious_finding() {
    let tree = Tree::new("/nonexistent");
    let failed = judge(&target(MYSQL), &Answer::Failed("refused".to_owned()), &plan(), &tree);
    let [advice] = &failed[..] else { panic!("{failed:?}") };
    assert_eq!(
        (advice.severity, &advice.found[..]),
        (Severity::Serious, "mysql at db.example:3307 cannot be asked: refused")
    );
    assert!(advice.fix.contains("MYSQL_PWD"), "{advice:?}");
    let unknown = judge(&target("redis://h"), &Answer::NoClient("redis".to_owned()), &plan(), &tree);
    assert_eq!((unknown.len(), unknown[0].severity), (1, Severity::Warning));
    assert!(unknown[0].fix.contains("php-redis"), "{unknown:?}");
}

#[test]
fn connections_are_compared_with_the_pools_of_all_workers() {
    let of = |max, used| {
        said(MYSQL, &[("max_connections", max), ("Threads_connected", used)], "max_connections").unwrap()
    };
    assert_eq!(of("151", "2").severity, Severity::Fine);
    let busy = of("100", "41");
    assert_eq!(busy.severity, Severity::Warning, "{busy:?}");
    assert!(
        busy.why.starts_with("4 workers with a pool of 16 each, its default, open up to 64:"),
        "{busy:?}"
    );
    let few = of("50", "2");
    assert_eq!(few.severity, Severity::Serious, "{few:?}");
    assert_eq!(
        few.fix,
        "SET GLOBAL max_connections = 81; or max: 12 for the pool (Weft\\Database, Weft\\Redis)"
    );
    assert!(few.keep.ends_with("max_connections = 81\\n' >> /etc/mysql/conf.d/weft.cnf"), "{few:?}");
    let reserved = [("max_connections", "67"), ("superuser_reserved_connections", "3"), ("used", "1")];
    assert_eq!(said("pgsql://h", &reserved, "max_connections").unwrap().severity, Severity::Fine);
    let reserved = [reserved[0], reserved[1], ("reserved_connections", "1"), reserved[2]];
    let few = said("pgsql://h", &reserved, "max_connections").unwrap();
    assert_eq!(few.severity, Severity::Serious, "{few:?}");
    assert!(few.fix.starts_with("ALTER SYSTEM SET max_connections = 84,"), "{few:?}");
    assert!(said("pgsql://h", &[("user_limit", "-1")], "CONNECTION LIMIT").is_none());
    let role = said("pgsql://h", &[("user_limit", "10")], "CONNECTION LIMIT").unwrap();
    assert!(role.found.ends_with("takes 10 connections of this role"), "{role:?}");
    let database =
        said("pgsql://h", &[("user_limit", "-1"), ("database_limit", "10")], "CONNECTION LIMIT").unwrap();
    assert!(database.fix.starts_with("ALTER DATABASE … CONNECTION LIMIT 80,"), "{database:?}");
    let clients = [("maxclients", "32"), ("connected_clients", "1"), ("rejected_connections", "7")];
    let few = said("redis://h", &clients, "maxclients").unwrap();
    assert!(few.found.ends_with("has refused 7") && few.keep == "redis-cli CONFIG REWRITE", "{few:?}");
}

#[test]
fn a_url_may_say_what_the_applications_pool_is_bounded_by() {
    let few = [
        ("max_connections", "50"),
        ("Threads_connected", "2"),
        ("wait_timeout", "60"),
        ("thread_cache_size", "40"),
    ];
    let of = |options: &str, subject| {
        said(&format!("mysql://h{options}"), &few, subject).filter(|one| one.severity > Severity::Fine)
    };
    for subject in ["max_connections", "wait_timeout", "thread_cache_size"] {
        assert!(of("", subject).is_some(), "{subject}");
        assert_eq!(of("?max=10&idleTimeout=30", subject), None, "{subject}");
    }
    let many = of("?max=20", "max_connections").unwrap();
    assert!(many.why.starts_with("4 workers with a pool of 20 each open up to 80:"), "{many:?}");
    for wrong in ["?max=0", "?max=many", "?idleTimeout=0", "?idleTimeout", "?min=1"] {
        let why = Target::parse(&format!("mysql://h{wrong}"), |_| None).unwrap_err();
        assert!(why.contains("max=CONNECTIONS"), "{wrong}: {why}");
    }
}

#[test]
fn instances_open_a_connection_for_each_request() {
    let classic = Plan { shares_php: false, running: 50, stays_loaded: false, ..plan() };
    let values = Values::of(&[("max_connections", "151"), ("Threads_connected", "1"), ("wait_timeout", "5")]);
    let all = judge(&target(MYSQL), &Answer::Values(values), &classic, &Tree::new("/nonexistent"));
    let few = all.iter().find(|advice| advice.subject == "max_connections").unwrap();
    assert!(few.why.contains("4 workers with 50 requests at once in each open up to 200"), "{few:?}");
    assert!(few.fix.contains("instances_max"), "{few:?}");
    // A connection ends with its request.
    assert!(all.iter().all(|advice| advice.subject != "wait_timeout"), "{all:?}");
}

#[test]
fn idle_connections_have_to_outlive_those_of_a_pool() {
    let idle = said(MYSQL, &[("wait_timeout", "60")], "wait_timeout").unwrap();
    assert_eq!(
        (idle.severity, idle.fix.contains("SET GLOBAL wait_timeout = 600")),
        (Severity::Warning, true)
    );
    assert!(said(MYSQL, &[("wait_timeout", "28800")], "wait_timeout").is_none());
    assert!(said("pgsql://h", &[("idle_session_timeout", "30000")], "idle_session_timeout").is_some());
    assert!(said("pgsql://h", &[("idle_session_timeout", "0")], "idle_session_timeout").is_none());
    assert!(said("redis://h", &[("timeout", "30")], "timeout").is_some());
    assert!(said("redis://h", &[("timeout", "0")], "timeout").is_none());
}

#[test]
fn threads_and_encryption_are_told_where_they_cost() {
    let threads = |kept, how| {
        said(MYSQL, &[("thread_cache_size", kept), ("thread_handling", how)], "thread_cache_size")
    };
    assert!(threads("9", "one-thread-per-connection").unwrap().fix.contains("thread_cache_size = 64"));
    assert!(
        threads("64", "one-thread-per-connection").is_none() && threads("9", "pool-of-threads").is_none()
    );
    let cipher = [("Ssl_cipher", "TLS_AES_256_GCM_SHA384")];
    assert!(said("mysql://127.0.0.1?tls=1", &cipher, "TLS").is_some());
    assert!(said(MYSQL, &cipher, "TLS").is_none(), "another machine");
    assert!(said("mysql://127.0.0.1", &[("Ssl_cipher", "")], "TLS").is_none());
    assert!(said("pgsql://localhost", &[("ssl", "1")], "TLS").is_some());
    assert!(said("rediss://[::1]", &[], "TLS").is_some() && said("redis://[::1]", &[], "TLS").is_none());
}

#[test]
fn redis_waits_for_its_disk_and_its_queue_is_the_kernels() {
    let always = [("appendonly", "yes"), ("appendfsync", "always")];
    assert!(said("redis://h", &always, "appendfsync").unwrap().fix.contains("everysec"));
    assert!(said("redis://h", &[("appendonly", "no"), always[1]], "appendfsync").is_none());
    let cut = said("redis://127.0.0.1", &[("tcp-backlog", "511")], "tcp-backlog").unwrap();
    assert!(cut.found.ends_with("is 511, of which the kernel leaves 128"), "{cut:?}");
    assert!(cut.fix.contains("net.core.somaxconn='511'"), "{cut:?}");
    assert!(
        said("redis://h", &[("tcp-backlog", "511")], "tcp-backlog").is_none(),
        "another machine's kernel"
    );
    let small = said("redis://h", &[("tcp-backlog", "10")], "tcp-backlog").unwrap();
    assert!(small.fix.starts_with("tcp-backlog 64 in redis.conf"), "{small:?}");
}

#[test]
fn what_all_clients_of_redis_wait_for() {
    let of = |values: &[(&str, &str)], subject| said("redis://127.0.0.1", values, subject);
    assert_eq!(of(&[("ping_us", "999"), ("latest_fork_usec", "900")], "latency"), None);
    let far = of(&[("ping_us", "2300")], "latency").unwrap();
    assert!(
        far.found.ends_with("answers PING after 2.3 ms at best") && far.why.contains("23.0 ms more"),
        "{far:?}"
    );
    let slow = [("slow_count", "3"), ("slow_us", "310000"), ("slow_command", "KEYS")];
    let slow = of(&slow, "slowlog").unwrap();
    assert_eq!(slow.severity, Severity::Warning);
    assert!(
        slow.found.ends_with(
            "lists 3 commands of 10 ms and more from the last day; the slowest, KEYS, took 310.0 ms"
        ),
        "{slow:?}"
    );
    let event = of(&[("event", "aof-fsync-always"), ("event_ms", "40")], "latency").unwrap();
    assert!(event.found.ends_with("for up to 40 ms, by aof-fsync-always"), "{event:?}");
    assert_eq!(of(&[("event", "command"), ("event_ms", "9")], "latency"), None);
    assert_eq!(of(&[("latest_fork_usec", "900")], "latest_fork_usec"), None);
    let fork = of(&[("latest_fork_usec", "45000")], "latest_fork_usec").unwrap();
    assert!(
        fork.fix.starts_with("redis-cli CONFIG SET save ''") && fork.keep == "redis-cli CONFIG REWRITE",
        "{fork:?}"
    );
}

#[test]
fn huge_pages_make_forks_of_a_redis_on_this_machine_dear() {
    let directory = Directory::new();
    let place = directory.path().join("sys/kernel/mm/transparent_hugepage");
    std::fs::create_dir_all(&place).unwrap();
    let of = |url: &str, choice: &str| {
        std::fs::write(place.join("enabled"), choice).unwrap();
        let answer = Answer::Values(Values::of(&[("latest_fork_usec", "45000")]));
        let all = judge(&target(url), &answer, &plan(), &Tree::new(directory.path()));
        all.into_iter().find(|advice| advice.subject == "latest_fork_usec").unwrap()
    };
    let huge = of("redis://127.0.0.1", "[always] madvise never\n");
    assert!(huge.fix.starts_with("echo madvise > /sys/") && huge.keep.contains("command line"), "{huge:?}");
    for (url, choice) in
        [("redis://127.0.0.1", "always [madvise] never\n"), ("redis://h", "[always] madvise never\n")]
    {
        assert!(of(url, choice).fix.starts_with("redis-cli"), "{url} {choice}");
    }
}
