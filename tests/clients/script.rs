//! One script and its tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use weft_tests::{Client, Running, Server, command};

use crate::machine::Machine;
use crate::servers::{Environment, Servers};

/// How many requests wait at once.
const REQUESTS: usize = 100;

/// All requests together may take this many times as long as one, plus the time for which the machine worked: a slow or
/// busy machine needs more time besides the waits. If waits block each other, the machine is idle.
const FACTOR_MAX: f64 = 1.3;

/// The same if each request has a process started: a command, or a server's process for its connection.
const FORKING_FACTOR_MAX: f64 = 2.5;

/// All requests together may take this many times as long as one, whatever the machine does.
const FACTOR_WITH_WORK_MAX: f64 = 10.0;

/// The best of this many attempts counts. Other work on the machine slows down some attempts, not all. Waits that block
/// each other do so in every attempt, a hundredfold.
const ATTEMPTS: usize = 5;

/// Held exclusively while the time of waits is measured, because other tests would distort it.
static MACHINE: RwLock<()> = RwLock::new(());

/// The settings of every run that a script cannot change.
fn settings(support: &Path) -> [String; 2] {
    let sendmail = support.join("sendmail");
    ["mysqli.allow_local_infile=1".to_string(), format!("sendmail_path={}", sendmail.display())]
}

/// Every other request begins its wait this much later, so that it meets requests that already wait.
const LATER_SECONDS: f64 = 0.1;

/// How many requests print at once.
const PRINTERS: usize = 4;

/// The script of one client.
pub struct Script {
    /// `mariadb/pdo-text`.
    pub name: String,
    server: String,
    path: PathBuf,
    support: PathBuf,
}

impl Script {
    /// Reads the script at `path`; `root` is the suite's directory.
    pub fn new(root: &Path, path: PathBuf) -> Script {
        let name = path.strip_prefix(root.join("scripts")).expect("it was found there").with_extension("");
        let name = name.display().to_string();
        let server = name.split('/').next().unwrap_or_default().to_string();
        Script { name, server, path, support: root.join("support") }
    }

    /// `php` and `weft php` give the same output.
    pub fn prints_the_same(&self, servers: &Servers) {
        let environment = servers.environment(&self.server);
        let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        let by_weft = self.run(&environment, |directory| {
            let mut weft = command::command(directory);
            weft.arg("php");
            weft
        });
        assert_eq!(self.run_by_php(&environment), by_weft, "php printed the left, weft php the right");
    }

    /// Requests of one worker print what `php` prints, although they alternate.
    pub fn prints_the_same_at_once(&self, servers: &Servers) {
        let environment = servers.environment(&self.server);
        let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        let expected = self.run_by_php(&environment);
        let weft = self.serve(&environment);
        let mut clients: Vec<_> = (0..PRINTERS).map(|_| weft.connect()).collect();
        all_print(&expected, &weft, &mut clients);
    }

    /// The same where each request has its own PHP instance, and the script stays loaded in each.
    pub fn prints_the_same_in_instances(&self, servers: &Servers) {
        let environment = servers.environment(&self.server);
        let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        let expected = self.run_by_php(&environment);
        let instances = PRINTERS.to_string();
        let server = self
            .server(&environment)
            .with("--define", "html_errors=0")
            .with("--run-as", "resident")
            .with("--instances", &instances);
        let weft = server.start();
        let mut clients: Vec<_> = (0..PRINTERS).map(|_| weft.connect()).collect();
        // So that no script is loaded while others are timed.
        clients.iter_mut().for_each(|client| client.get("/load"));
        clients.iter_mut().for_each(|client| assert_eq!(client.read().status, 200, "{}", weft.log()));
        // In the second round, each script has already run once.
        for _ in 0..2 {
            all_print(&expected, &weft, &mut clients);
        }
        clients.iter_mut().enumerate().for_each(|(n, client)| client.get(&format!("/waits?n={n}&later=0")));
        for (n, client) in clients.iter_mut().enumerate() {
            let response = client.read();
            assert_eq!((response.status, response.text()), (200, n.to_string()), "{}", weft.log());
        }
    }

    /// Waits of many requests in one worker take little longer than one.
    pub fn waits_at_once(&self, servers: &Servers) {
        let environment = servers.environment(&self.server);
        let _alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        let mut factors = Vec::new();
        for _ in 0..ATTEMPTS {
            let server = self.server(&environment);
            let weft = server.with("--listen", "127.0.0.1:0").with("--listen", "admin://127.0.0.1:0").start();
            let terms = weft.get("/terms").json();
            let number = |name: &str| terms[name].as_f64().expect("a number of seconds");
            let (least, most) = (number("seconds"), number("seconds_at_most"));
            let machine = Machine::look();
            let took = self.wait_at_once(&weft);
            let worked = machine.worked();
            self.is_named_in_the_numbers(&weft);
            let (factor, idle) = (took / (most + LATER_SECONDS), (took - worked) / (most + LATER_SECONDS));
            println!(
                "{}: {REQUESTS} waits of {most} s, half of them {LATER_SECONDS} s later, took {took:.2} s, {factor:.2} times the least, with {worked:.2} s of work",
                self.name
            );
            assert!(took >= least, "they took {took} s, so they did not wait {least} s");
            factors.push((factor, idle));
            let factor_max = if terms["forks"] == true { FORKING_FACTOR_MAX } else { FACTOR_MAX };
            if idle <= factor_max && factor <= FACTOR_WITH_WORK_MAX {
                return;
            }
        }
        panic!(
            "{REQUESTS} waits at once took so many times what one takes, with and without the machine's work: {factors:.2?}"
        );
    }

    /// Sends all requests at once; returns the seconds until the last one is answered.
    fn wait_at_once(&self, weft: &Running) -> f64 {
        let mut clients: Vec<_> = (0..REQUESTS).map(|_| weft.connect()).collect();
        let start = Instant::now();
        for (n, client) in clients.iter_mut().enumerate() {
            let later = LATER_SECONDS * (n % 2) as f64;
            client.get(&format!("/waits?n={n}&later={later}"));
        }
        for (n, client) in clients.iter_mut().enumerate() {
            let response = client.read();
            assert_eq!((response.status, response.text()), (200, n.to_string()), "{}", self.name);
        }
        start.elapsed().as_secs_f64()
    }

    /// What most of the time was waited for is what this directory's scripts are about.
    fn is_named_in_the_numbers(&self, weft: &Running) {
        let expected: &[&str] = match self.server.as_str() {
            "mariadb" => &["mysql"],
            "postgres" => &["postgresql"],
            // Its connection is made by session_start(), and the port says nothing.
            "redis" if self.name == "redis/session" => &["server"],
            "redis" => &["redis"],
            "memcached" => &["memcached"],
            "openldap" => &["ldap"],
            "rabbitmq" => &["queue"],
            "soap" => &["http"],
            "locks" => &["lock"],
            "time" => &["sleep"],
            "files" => &["disk", "pipe"],
            "processes" => &["child", "pipe"],
            "network" if self.name.contains("curl") => &["http"],
            "network" if self.name.contains("http") => &["http"],
            _ => return,
        };
        let log = weft.log();
        let admin = log.lines().find_map(|line| line.strip_prefix("weft: listening on admin://"));
        let mut client = Client::connect(admin.expect("it says where").parse().expect("an address"));
        client.get("/status");
        let status = client.read().json();
        let waits = status["waits_by_kind"].as_object().expect("an object");
        let sum = |waits: &serde_json::Value| waits["sum_ms"].as_f64().expect("a number");
        // Some scripts sleep while they hold what others wait for.
        let sleeps = |kind: &str| kind == "sleep" && self.server != "time";
        let others = waits.iter().filter(|(kind, _)| !sleeps(kind));
        let (most, _) = others.max_by(|a, b| sum(a.1).total_cmp(&sum(b.1))).expect("there are kinds");
        assert!(
            expected.contains(&most.as_str()),
            "{}: most of the time it waited for {most}: {waits:?}",
            self.name
        );
    }

    fn serve(&self, environment: &Environment) -> Running {
        self.server(environment).start()
    }

    fn server(&self, environment: &Environment) -> Server {
        let mut server = Server::new(include_str!("support/app.php").trim_start_matches("<?php"))
            .with_variable("CLIENT_SUPPORT", &self.support.display().to_string())
            .with_variable("CLIENT_SCRIPT", &self.path.display().to_string());
        for setting in settings(&self.support) {
            server = server.with("--define", &setting);
        }
        for (name, value) in environment {
            server = server.with_variable(name, value);
        }
        server
    }

    fn run_by_php(&self, environment: &Environment) -> String {
        self.run(environment, |directory| {
            let mut php = Command::new("php");
            php.current_dir(directory);
            php
        })
    }

    /// The output of the script when a command runs it.
    fn run(&self, environment: &Environment, command: impl Fn(&Path) -> Command) -> String {
        let directory =
            tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        let mut command = command(directory.path());
        for setting in settings(&self.support) {
            command.args(["-d", &setting]);
        }
        command.arg(self.support.join("run.php")).arg(&self.path).envs(environment.iter().cloned());
        let output = command::finish(&mut command);
        let said = || format!("{}: {}{}", self.name, output.stdout, output.stderr);
        assert_eq!(output.code, Some(0), "{}", said());
        assert!(!output.stdout.is_empty(), "{}", said());
        output.stdout
    }
}

/// All requests are sent before any answer is read.
fn all_print(expected: &str, weft: &Running, clients: &mut [Client]) {
    clients.iter_mut().for_each(|client| client.get("/prints"));
    for client in clients {
        let response = client.read();
        let (said, status) = (response.text(), response.status);
        assert_eq!(expected, said, "php printed the left, a request ({status}) the right: {}", weft.log());
    }
}
