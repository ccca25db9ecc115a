//! The laboratory in bench/: its own tests, and one run of each scenario with the least load that there is. Nothing is
//! measured here: a scenario has to start what it measures, to get answers, and to write its results.
//!
//! Left out are `applications`, `mix`, `wordpress`, `symfony` and `sites`, which install whole applications or hundreds of
//! sites, and those that take long even so, because they wait, download or repeat: `soak`, `fair`, `hostile`, `beside`,
//! `instances`, `switch`, `held`, `streams`, `download`, `echo`, `spans` and `paced`. Servers that need Maven or
//! crates of their own take no part.

use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use weft_tests::command::binary;
use weft_tests::process::signal;
use weft_tests::wait::until_within;

fn bench() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench").canonicalize().expect("bench/")
}

/// How long a run may take; then it is asked to stop, so that it stops the servers that it has started.
const LONGEST: Duration = Duration::from_secs(240);
const UNTIL_STOPPED: Duration = Duration::from_secs(60);

/// Runs a program of the bench to its end: the exit code, and all that it says.
fn outcome(program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut said = tempfile::tempfile().expect("a file for what it says");
    let writer = || said.try_clone().expect("one more descriptor");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(bench()).env("BENCH_WEFT", binary());
    command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null()).stdout(writer()).stderr(writer());
    let mut child = command.spawn().expect("the program starts");
    let (deadline, mut asked) = (Instant::now() + LONGEST, false);
    let status = until_within(LONGEST + UNTIL_STOPPED, program, || {
        if !asked && Instant::now() > deadline {
            asked = true;
            signal(child.id(), Signal::TERM);
        }
        child.try_wait().expect("it is our child")
    });
    let mut text = String::new();
    said.rewind().expect("the beginning");
    said.read_to_string(&mut text).expect("text");
    (status.code(), text)
}

fn run(program: &str, arguments: &[&str]) {
    let (code, said) = outcome(program, arguments);
    assert_eq!(code, Some(0), "{program} {}:\n{said}", arguments.join(" "));
}

/// The programs in C, made once.
static PROGRAMS: LazyLock<()> = LazyLock::new(|| run("./programs", &[]));

/// How long each load takes, in seconds: first as briefly as the generators can, then longer. On a busy machine a server
/// may not get its core within a second, and a load without an answer is refused.
const SECONDS: [&str; 3] = ["1", "3", "6"];

/// One round of these scenarios; each has samples of each of the servers afterwards, and the report shows them.
fn smoke(scenarios: &[&str], servers: &[&str]) {
    LazyLock::force(&PROGRAMS);
    let place = tempfile::tempdir().expect("a directory for the results");
    let out = place.path().to_str().expect("a path of letters");
    let servers_flag = servers.join(",");
    for (attempt, seconds) in SECONDS.iter().enumerate() {
        let mut arguments = vec!["smoke"];
        arguments.extend(scenarios);
        arguments.extend(["--servers", &servers_flag, "--out", out, "--seconds", seconds]);
        let (code, said) = outcome("./run", &arguments);
        if code == Some(0) {
            break;
        }
        assert!(attempt + 1 < SECONDS.len(), "bench/run {}: {code:?}\n{said}", arguments.join(" "));
    }
    let page = std::fs::read_to_string(place.path().join("report.html")).expect("the report");
    let text = std::fs::read_to_string(place.path().join("report.md")).expect("the report as text");
    for scenario in scenarios {
        let record =
            std::fs::read_to_string(place.path().join(format!("{scenario}.json"))).expect("a record");
        let record: Value = serde_json::from_str(&record).expect("JSON");
        assert_eq!(record["failures"], serde_json::json!({}), "{scenario}");
        assert!(page.contains(&format!("id=\"{scenario}\"")), "{scenario} is not in the report");
        assert!(text.contains(record["title"].as_str().expect("a title")), "{scenario} is not in the text");
        let samples = record["samples"].as_array().expect("samples");
        for server in servers {
            assert!(
                samples.iter().any(|sample| sample["peer"] == *server),
                "{scenario}: nothing of {server}"
            );
        }
    }
}

#[test]
fn the_laboratory_s_own_tests_pass() {
    run("python3", &["-m", "unittest", "discover", "-s", ".", "-t", "."]);
}

#[test]
fn an_unknown_server_is_refused() {
    let (code, said) = outcome("./run", &["smoke", "hello", "--servers", "nonsense"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("there is no server nonsense"), "{said}");
}

#[test]
fn hello_and_its_system_calls() {
    smoke(&["hello", "short", "syscalls"], &["weft", "bare"]);
}

#[test]
fn waits() {
    smoke(&["sleep10", "scope"], &["weft"]);
}

#[test]
fn servers_that_have_work_in_turn() {
    smoke(&["figures"], &["weft"]);
}

#[test]
fn connections_and_rates() {
    smoke(&["concurrency"], &["weft"]);
}

#[test]
fn bodies() {
    smoke(&["json", "body"], &["weft"]);
}

#[test]
fn bodies_in_classic_and_resident_mode() {
    smoke(&["body"], &["weft-instances", "weft-resident"]);
}

#[test]
fn held_connections_and_requests() {
    smoke(&["idle", "parked"], &["weft"]);
}

#[test]
fn the_evolution_of_servers() {
    smoke(&["evolution"], &["fork", "prefork", "coroutine", "weft"]);
}

#[test]
fn containers() {
    smoke(&["containers"], &["weft"]);
}

#[test]
fn databases() {
    smoke(&["db10", "redis"], &["weft"]);
}

#[test]
fn queries() {
    smoke(&["db3", "querycalls"], &["weft"]);
}

#[test]
fn the_pop_up_mix() {
    smoke(&["popup"], &["weft"]);
}

#[test]
fn tls_and_http2() {
    smoke(&["tls", "http2"], &["weft"]);
}

#[test]
fn handshakes() {
    smoke(&["handshakes"], &["weft"]);
}

#[test]
fn document_roots() {
    smoke(&["classic", "wait1", "slow"], &["weft-instances"]);
}

#[test]
fn parts_and_crowds() {
    smoke(&["crowd", "broadcast"], &["weft"]);
}

#[test]
fn messages() {
    smoke(&["publish"], &["weft"]);
}

#[test]
fn clients_that_wait_and_hosts() {
    smoke(&["conversations", "stalled", "hosts"], &["weft"]);
}
