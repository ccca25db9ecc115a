//! The soak: mixed waits, computations, faults and cancellations against real servers, for a given time:
//! `soak SECONDS [coroutine|classic]`; or of topics: `soak SECONDS push`.
//!
//! There are two phases. For nine tenths of the time, no request costs a worker: its memory, descriptors and coroutines
//! must be the same at the end as after the first fifth. In the last tenth, requests also exhaust memory, and their
//! workers are replaced. In both phases every answer must be right. The exit code tells whether all of this held.

mod load;
mod push;
mod routes;

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use load::{Random, Tally};
use routes::Route;
use weft_tests::client::Client;
use weft_tests::server::{Running, Server};
use weft_tests::services::{MariaDb, Redis, Upstream};

const CLIENTS: u64 = 48;

/// How much PHP's memory may have grown at the end: caches that fill late.
const GROWTH_BYTES_MAX: u64 = 4 << 20;
const GROWTH_DESCRIPTORS_MAX: u64 = 40;

/// In a shorter run the coroutines' caches still fill, so resident memory means nothing.
const LONG_SECONDS: u64 = 300;

/// What the application and the kernel report about its worker.
#[derive(Debug, Clone, Copy)]
struct State {
    coroutines: u64,
    descriptors: u64,
    php_bytes: u64,
    resident_bytes: u64,
}

impl State {
    fn each(self, other: State, of: fn(u64, u64) -> u64) -> State {
        State {
            coroutines: of(self.coroutines, other.coroutines),
            descriptors: of(self.descriptors, other.descriptors),
            php_bytes: of(self.php_bytes, other.php_bytes),
            resident_bytes: of(self.resident_bytes, other.resident_bytes),
        }
    }
}

/// What is served, and how.
struct Soak {
    server: Server,
    routes: &'static [Route],
    /// How much resident memory may have grown at the end: arenas that the allocator keeps; the heaps of those that compute.
    growth_bytes_max: u64,
}

/// One PHP whose coroutines are preempted.
fn coroutine_mode() -> Soak {
    let application = include_str!("app.php").trim_start_matches("<?php");
    Soak {
        server: Server::new(application).with("--preempt-ms", "5"),
        routes: routes::COROUTINE,
        growth_bytes_max: 4 << 20,
    }
}

/// A PHP for each request, with a time slice so short that each computation is interrupted at many places. Every tenth
/// client has to wait for an instance.
fn classic_mode() -> Soak {
    let server = Server::of_docroot(&[("index.php", include_str!("page.php"))]);
    let server = server.with("--instances", "43").with("--slice-ms", "0.2").with("--extra-workers-max", "0");
    Soak { server, routes: routes::CLASSIC, growth_bytes_max: 64 << 20 }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(600);
    let soak = match arguments.next().as_deref() {
        None | Some("coroutine") => coroutine_mode(),
        Some("classic") => classic_mode(),
        Some("push") => return ExitCode::from(u8::from(!push::run(&push::server().start(), seconds))),
        Some(other) => {
            eprintln!("there is no mode {other}: coroutine, classic, push");
            return ExitCode::from(2);
        }
    };
    println!("starting MariaDB, Redis and an upstream");
    let (mariadb, redis, upstream) = (MariaDb::start(), Redis::start(), Upstream::start());
    let server = soak
        .server
        .with_variable("MYSQL_PORT", &mariadb.port.to_string())
        .with_variable("REDIS_PORT", &redis.port.to_string())
        .with_variable("UPSTREAM_PORT", &upstream.http.to_string())
        .with_variable("SOAK_DIRECTORY", &upstream.directory().display().to_string())
        .with("--workers", "1")
        .start();
    if run(&server, soak.routes, soak.growth_bytes_max, seconds) {
        return ExitCode::SUCCESS;
    }
    // Each exception that the application threw on purpose says so.
    let log = server.log();
    let errors = log.lines().filter(|line| {
        line.contains("ERROR") && !line.contains("deliberate") && !line.contains("call stack size")
    });
    errors.take(20).for_each(|line| eprintln!("{line}"));
    ExitCode::FAILURE
}

/// Both phases; whether all of it held.
fn run(server: &Running, routes: &'static [Route], growth_bytes_max: u64, seconds: u64) -> bool {
    let total = Duration::from_secs(seconds);
    let address = server.addresses()[0];
    let (tally, stop) = (Tally::default(), AtomicBool::new(false));
    let began = Instant::now();
    let (after_warm_up, at_the_end) = thread::scope(|scope| {
        for seed in 1..=CLIENTS {
            let (tally, stop) = (&tally, &stop);
            scope.spawn(move || load::run(address, seed, routes, tally, stop));
        }
        let every = (total / 20).min(Duration::from_secs(5));
        let warm = progress(began, total / 5, every, server, &tally, u64::max);
        let last = progress(began, total / 10 * 9, every, server, &tally, u64::min);
        fatal_phase(address, began, total, server, &tally);
        stop.store(true, Ordering::Relaxed);
        (warm, last)
    });
    let growth_bytes_max = if seconds >= LONG_SECONDS { growth_bytes_max } else { u64::MAX };
    verdict(&tally, after_warm_up, at_the_end, growth_bytes_max)
}

/// How many samples make a state.
const LOOKS: usize = 5;

/// Shows the progress until `until` has passed since `began`; returns the state then: `of` applied to the last samples.
/// The work in progress at one moment differs by dozens of descriptors, so a real increase shows when the later minimum
/// exceeds the earlier maximum.
fn progress(
    began: Instant,
    until: Duration,
    every: Duration,
    server: &Running,
    tally: &Tally,
    of: fn(u64, u64) -> u64,
) -> State {
    let mut looks = Vec::new();
    loop {
        let left = until.saturating_sub(began.elapsed());
        thread::sleep(left.min(every));
        let state = state(server);
        println!(
            "{:>5} s  {:>9} answered  {:>6} left  {:>3} reconnected  {} wrong  {:>3} coroutines  {:>4} descriptors  {:>6.1} MB \
             PHP  {:>6.1} MB resident",
            began.elapsed().as_secs(),
            tally.answered.load(Ordering::Relaxed),
            tally.left.load(Ordering::Relaxed),
            tally.reconnected.load(Ordering::Relaxed),
            tally.wrong.load(Ordering::Relaxed),
            state.coroutines,
            state.descriptors,
            state.php_bytes as f64 / 1e6,
            state.resident_bytes as f64 / 1e6,
        );
        let _ = std::io::stdout().flush();
        looks.push(state);
        if began.elapsed() >= until {
            let looks = looks.iter().rev().take(LOOKS).copied();
            return looks.reduce(|one, other| one.each(other, of)).unwrap_or(state);
        }
    }
}

fn state(server: &Running) -> State {
    let response = server.get("/state?token=x");
    let json: serde_json::Value = serde_json::from_slice(&response.body).expect("the state is JSON");
    let number = |name: &str| json[name].as_u64().expect("a number");
    let worker = server.workers()[0];
    let resident = std::fs::read_to_string(format!("/proc/{worker}/statm")).unwrap_or_default();
    let pages: u64 = resident.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    State {
        coroutines: number("coroutines"),
        descriptors: number("descriptors"),
        php_bytes: number("memory"),
        resident_bytes: pages * 4096,
    }
}

/// Adds requests that exhaust their memory: each gets its 500, and its worker is replaced.
fn fatal_phase(address: SocketAddr, began: Instant, total: Duration, server: &Running, tally: &Tally) {
    let mut random = Random(99);
    while began.elapsed() < total {
        let mut client = Client::connect(address);
        client.get("/fatal?token=x");
        let status = client.try_read().map(|response| response.status);
        if matches!(status, Ok(500)) {
            tally.answered.fetch_add(1, Ordering::Relaxed);
        } else {
            tally.wrong.fetch_add(1, Ordering::Relaxed);
            eprintln!("/fatal: {status:?}");
        }
        thread::sleep(Duration::from_millis(500 + random.below(500)));
        let _ = state(server);
    }
}

fn verdict(tally: &Tally, before: State, after: State, growth_bytes_max: u64) -> bool {
    let wrong = tally.wrong.load(Ordering::Relaxed);
    let grown = after.php_bytes.saturating_sub(before.php_bytes);
    let resident = after.resident_bytes.saturating_sub(before.resident_bytes);
    let descriptors = after.descriptors.saturating_sub(before.descriptors);
    println!(
        "{} answered, {} left, {wrong} wrong; since the warm-up {grown} bytes of PHP, {resident} resident and {descriptors} \
         descriptors more",
        tally.answered.load(Ordering::Relaxed),
        tally.left.load(Ordering::Relaxed),
    );
    wrong == 0
        && grown <= GROWTH_BYTES_MAX
        && resident <= growth_bytes_max
        && descriptors <= GROWTH_DESCRIPTORS_MAX
}
