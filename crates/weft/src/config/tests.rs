//! The configuration's contract: what each source may contain, which one wins, and the text of each error.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;

use super::keys::{Arity, KEYS};
use super::*;
use crate::master::testing::Directory;

/// Loads from a file's text, variables and flags.
fn load_from(
    file: &str,
    variables: &[(&str, &str)],
    flags: &[(&'static str, &str)],
) -> Result<Config, Vec<String>> {
    let directory = Directory::new();
    let path = directory.path().join("weft.toml");
    std::fs::write(&path, file).unwrap();
    let variables = variables.iter().map(|(n, v)| (OsString::from(n), OsString::from(v)));
    let flags = flags.iter().map(|(n, v)| (*n, Value::Text(v.to_string()))).collect();
    let shorten = |texts: Vec<String>| {
        texts.iter().map(|t| t.replace(&path.display().to_string(), "weft.toml")).collect()
    };
    load(Some(path.clone()), variables, flags).map_err(shorten)
}

fn refusal_of_file(file: &str) -> String {
    load_from(file, &[], &[]).unwrap_err().join("\n")
}

#[test]
fn flags_go_over_variables_over_file_over_defaults() {
    let file = "[limits]\nqueue_max = 1\nidle_timeout_ms = 2\nbody_bytes_max = \"3MiB\"\n";
    let variables = [("WEFT_QUEUE_MAX", "10"), ("WEFT_IDLE_TIMEOUT_MS", "20"), ("HOME", "/root")];
    let config = load_from(file, &variables, &[("queue-max", "100")]).unwrap();
    assert_eq!(config.limits.queue_max, 100);
    assert_eq!(config.limits.idle_timeout_ms, 20);
    assert_eq!(config.limits.body_bytes_max, 3 << 20);
    assert_eq!(config.limits.head_bytes_max, LimitSettings::default().head_bytes_max);
}

#[test]
fn every_section_reads_its_types() {
    let file = r#"
        [server]
        application = "public/app.php"
        listen = ["127.0.0.1:80", ":81", "[::1]:82", "unix:/run/weft.sock,mode=0660"]
        workers = 4
        daemon = true
        [log]
        error_log = "/var/log/weft.log"
        access_log = "-"
        format = "json"
        [trust]
        proxies = ["10.0.0.0/8", "::1"]
        [php.ini]
        memory_limit = "256M"
        display_errors = false
        precision = 14
        [dev]
        mode = "development"
        watch = true
        [recycle]
        requests_max = 10_000
    "#;
    let config = load_from(file, &[], &[]).unwrap();
    let listen: Vec<String> = config.server.listen.iter().map(ToString::to_string).collect();
    assert_eq!(listen, ["127.0.0.1:80", "0.0.0.0:81", "[::1]:82", "unix:/run/weft.sock,mode=0660"]);
    assert_eq!(config.server.workers, Workers::Exactly(4));
    assert_eq!(config.server.application, Some(PathBuf::from("public/app.php")));
    assert_eq!(config.log.error_log, LogTarget::File("/var/log/weft.log".into()));
    assert_eq!((config.log.access_log, config.log.format), (LogTarget::Stream, Format::Json));
    assert_eq!(config.trust.proxies, ["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
    let ini: Vec<_> = config.php.ini.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(ini, ["display_errors=0", "memory_limit=256M", "precision=14"]);
    assert_eq!((config.dev.mode, config.dev.watch), (Environment::Development, vec![PathBuf::new()]));
    assert_eq!(config.recycle.requests_max, 10_000);
}

#[test]
fn a_list_in_a_variable_is_split_at_spaces() {
    let variables =
        [("WEFT_LISTEN", ":80 unix:/run/a,mode=0600"), ("WEFT_DEFINE", "a=1 b"), ("WEFT_WATCH", "true")];
    let config = load_from("", &variables, &[("define", "a=2")]).unwrap();
    assert_eq!(config.server.listen.len(), 2);
    assert_eq!(config.dev.watch, [PathBuf::new()]);
    let ini: Vec<_> = config.php.ini.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(ini, ["a=1", "b=1", "a=2"]);
}

#[test]
fn refusals_of_the_file_name_line_key_and_nearest_name() {
    for (file, expected) in [
        ("[server]\n\nworkres = 1", "weft.toml:3: unknown key workres in [server] (did you mean workers?)"),
        ("[server]\nzzz = 1", "weft.toml:2: unknown key zzz in [server]"),
        ("[limit]\nqueue_max = 1", "weft.toml:1: unknown section [limit] (did you mean limits?)"),
        ("[server]\nqueue_max = 1", "weft.toml:2: queue_max belongs in section [limits], not [server]"),
        ("workers = 2", "weft.toml:1: workers is outside a section: put it under [server]"),
        (
            "\nserver = 2",
            "weft.toml:2: server is a section: write [server] on a line of its own, its keys below",
        ),
        (
            "[server]\nworkers = 0",
            "weft.toml:2: server.workers: 0 is out of range: allowed are 1 to 1024 (or \"auto\")",
        ),
        (
            "[limits]\nbody_bytes_max = \"8 potatoes\"",
            "weft.toml:2: limits.body_bytes_max: expected a number of bytes such as 65536, 64KiB or 8MiB, got \"8 potatoes\"",
        ),
        (
            "[limits]\nhead_bytes_max = 10",
            "weft.toml:2: limits.head_bytes_max: 10 is out of range: allowed are 256 to 1MiB",
        ),
        (
            "[limits]\nhead_timeout_ms = 1.5",
            "weft.toml:2: limits.head_timeout_ms: expected a whole number of milliseconds, got 1.5",
        ),
        (
            "[classic]\nslice_ms = 0.01",
            "weft.toml:2: classic.slice_ms: 0.01 is out of range: allowed are 0, and 0.05 to 60000",
        ),
        (
            "[classic]\nslice_ms = 0.1234",
            "weft.toml:2: classic.slice_ms: expected milliseconds, with up to three decimals, got 0.1234",
        ),
        (
            "[classic]\nslice_ms = \"-1\"",
            "weft.toml:2: classic.slice_ms: expected milliseconds, with up to three decimals, got \"-1\"",
        ),
        (
            "[log]\nlevel = \"warning\"",
            "weft.toml:2: log.level: \"warning\" is not one of error, warn, info, debug, trace (did you mean \"warn\"?)",
        ),
        ("[server]\ndaemon = 3", "weft.toml:2: server.daemon: expected true or false, got 3"),
        ("[server]\nuser = \"\"", "weft.toml:2: server.user: is empty: leave the key out instead"),
        (
            "[trust]\nproxies = [\"10.0.0.1/8\"]",
            "weft.toml:2: trust.proxies: \"10.0.0.1/8\" has bits set beyond its prefix: write 10.0.0.0/8",
        ),
        (
            "[php.ini]\nmemory_limit = [1]",
            "weft.toml:1: php.ini: expected text, a number or a boolean, got a list",
        ),
    ] {
        assert_eq!(refusal_of_file(file), expected);
    }
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_its_line() {
    let refusal = refusal_of_file("[server]\nworkers = \n");
    assert!(refusal.starts_with("weft.toml:2: "), "{refusal}");
    let refusal = refusal_of_file("[server]\nworkers = 1\nworkers = 2\n");
    assert!(refusal.starts_with("weft.toml:3: duplicate key"), "{refusal}");
}

#[test]
fn a_named_file_must_exist() {
    let refusal = load(Some("/nonexistent/weft.toml".into()), std::iter::empty(), vec![]).unwrap_err();
    assert_eq!(refusal, ["/nonexistent/weft.toml: cannot be read: No such file or directory (os error 2)"]);
}

#[test]
fn refusals_of_addresses_say_how_to_write_them() {
    for (address, expected) in [
        (
            "localhost",
            "\"localhost\" is not an address to listen on: write HOST:PORT (127.0.0.1:8080, [::1]:8080, :8080 for all \
             interfaces) or unix:/path",
        ),
        ("::1:80", "\"::1:80\": write an IPv6 address in brackets, as in [::1]:80"),
        (
            "example.com:80",
            "\"example.com:80\": \"example.com\" is not an IP address; weft listens on addresses, not names",
        ),
        ("unix:", "unix: needs a path, as in unix:/run/weft/weft.sock"),
        ("unix:/a,mode=9", "mode \"9\" is not permission bits: write them in octal, as in mode=0660"),
    ] {
        assert_eq!(
            load_from("", &[], &[("listen", address)]).unwrap_err(),
            [format!("--listen: {expected}")]
        );
    }
    let long = format!("unix:/{}", "a".repeat(107));
    assert_eq!(
        load_from("", &[], &[("listen", &long)]).unwrap_err(),
        ["--listen: the unix socket path has 108 bytes; the kernel allows 107"]
    );
}

#[test]
fn refusals_of_variables_name_them() {
    for (name, value, expected) in [
        (
            "WEFT_WORKRES",
            "1",
            "variable WEFT_WORKRES is unknown (did you mean WEFT_WORKERS?): names starting with WEFT_ are weft's own",
        ),
        (
            "WEFT_WORKERS",
            "many",
            "variable WEFT_WORKERS: expected a whole number, got \"many\" (or \"auto\")",
        ),
        ("WEFT_DAEMON", "maybe", "variable WEFT_DAEMON: expected true or false, got \"maybe\""),
    ] {
        assert_eq!(load_from("", &[(name, value)], &[]).unwrap_err(), [expected]);
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let mistakes = load_from("[server]\nworkres = 1\nlisten = 0.5", &[("WEFT_X", "1")], &[("workers", "-1")])
        .unwrap_err();
    assert_eq!(mistakes.len(), 4, "{mistakes:?}");
}

#[test]
fn rules_between_keys_are_checked() {
    for (file, expected) in [
        (
            "[limits]\nhead_bytes_max = 4096",
            "target_bytes_max (8192) is larger than head_bytes_max (4096), of which the target is a part: lower the \
             first or raise the second",
        ),
        (
            "[server]\nlisten = [\"unix:/a\", \"unix:/a,mode=0600\"]",
            "listen names unix:/a,mode=0600 twice: remove one",
        ),
        ("[server]\nlisten = []", "listen is empty: give at least one address, e.g. --listen 127.0.0.1:8080"),
        (
            "[server]\ngroup = \"www\"",
            "group is set without user: give --user as well (otherwise the workers keep root privileges)",
        ),
        (
            "[server]\ndaemon = true",
            "daemon is on, but error_log is not a file: a daemon has no terminal; give --error-log PATH",
        ),
    ] {
        assert_eq!(refusal_of_file(file), expected);
    }
}

#[test]
fn names_of_flags_keys_and_variables_are_unique() {
    let flags: HashSet<_> = KEYS.iter().map(|key| key.flag).collect();
    let names: HashSet<_> = KEYS.iter().map(|key| (key.section, key.name)).collect();
    assert_eq!((flags.len(), names.len()), (KEYS.len(), KEYS.len()));
}

#[test]
fn every_default_is_within_its_range_and_as_documented() {
    for key in KEYS.iter().filter(|key| key.arity != Arity::Many) {
        let default = (key.default)();
        if !["none", "the user's"].contains(&default.as_str()) {
            let mut config = Config::default();
            (key.set)(&mut config, Value::Text(default)).unwrap_or_else(|why| panic!("{}: {why}", key.name));
            assert_eq!(config, Config::default(), "{}", key.name);
        }
    }
}

#[test]
fn networks_contain_what_they_should() {
    let network = |text: &str| text.parse::<Network>().unwrap();
    for (text, inside, outside) in [
        ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
        ("0.0.0.0/0", "1.2.3.4", "::1"),
        ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
        ("10.0.0.0/8", "::ffff:10.1.1.1", "::ffff:11.1.1.1"),
        ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
        ("::/0", "::1", "127.0.0.1"),
    ] {
        assert!(network(text).contains(inside.parse().unwrap()), "{inside} in {text}");
        assert!(!network(text).contains(outside.parse().unwrap()), "{outside} not in {text}");
    }
    for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/x"] {
        assert!(wrong.parse::<Network>().is_err(), "{wrong}");
    }
}

/// On failure, this test shows the text to insert.
#[test]
fn the_reference_documentation_lists_every_key() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/configuration.md");
    let documented = std::fs::read_to_string(path).unwrap();
    let table = reference();
    assert!(documented.contains(&table), "docs/reference/configuration.md should contain:\n{table}");
}

fn reference() -> String {
    let mut text = String::new();
    let mut section = "";
    for key in KEYS {
        if key.section != section {
            section = key.section;
            text.push_str(&format!(
                "\n### [{section}]\n\n| key | default | allowed | flag | what it does |\n|---|---|---|---|---|\n"
            ));
        }
        let flag = if key.positional { "argument".into() } else { format!("`--{}`", key.flag) };
        text.push_str(&format!(
            "| `{}` | {} | {} | {flag} | {} |\n",
            key.name,
            (key.default)(),
            (key.allowed)(),
            key.help
        ));
    }
    text
}

#[test]
fn the_sample_configuration_is_accepted() {
    let sample = include_str!("../../../../deploy/weft.toml");
    let config = load_from(sample, &[], &[]).unwrap();
    assert_eq!(config.recycle.memory_growth_bytes_max, 512 << 20);
}

#[test]
fn rules_of_a_document_root_stay_below_it() {
    let file = |rule: &str| format!("[classic]\ntry = [\"{rule}\"]\n");
    for rule in ["$path", "$path/index.php", "index.php", "/app.php", "$path/a/index.html"] {
        let config = load_from(&file(rule), &[], &[]).unwrap();
        assert_eq!(config.classic.rules, [rule]);
    }
    for rule in ["../index.php", "$path/../a.php", "$pathindex.php", ".."] {
        assert!(refusal_of_file(&file(rule)).contains("below the document root"), "{rule}");
    }
}

#[test]
fn a_time_slice_may_be_a_fraction_of_a_millisecond_in_each_notation() {
    for (given, micros) in [("0", 0), ("0.05", 50), ("0.1", 100), ("8", 8_000), ("1.25", 1_250)] {
        let slice = Some(std::time::Duration::from_micros(micros));
        assert_eq!(Value::Text(given.to_owned()).slice().ok(), slice, "{given} as text");
        assert_eq!(Value::Fraction(given.to_owned()).slice().ok(), slice, "{given} in the file");
    }
    assert_eq!(Value::Integer(8).slice(), Ok(std::time::Duration::from_millis(8)));
}
