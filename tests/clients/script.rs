//! One script and its three tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use weft_tests::{Running, Server, command};

use crate::servers::{Environment, Servers};

/// How many requests wait at once.
const REQUESTS: usize = 100;

/// Settings of every run: what cannot be changed by a script.
fn settings(support: &Path) -> [String; 2] {
    let sendmail = support.join("sendmail");
    ["mysqli.allow_local_infile=1".to_string(), format!("sendmail_path={}", sendmail.display())]
}

/// Every other request begins its wait so much later: it finds others that wait already.
const LATER_SECONDS: f64 = 0.1;

/// How many requests print at once.
const PRINTERS: usize = 4;

/// A script of a client.
pub struct Script {
    /// `mariadb/pdo-text`.
    pub name: String,
    server: String,
    path: PathBuf,
    support: PathBuf,
}

impl Script {
    /// The script at `path`; `root` is the suite's directory.
    pub fn new(root: &Path, path: PathBuf) -> Script {
        let name = path.strip_prefix(root.join("scripts")).expect("it was found there").with_extension("");
        let name = name.display().to_string();
        let server = name.split('/').next().unwrap_or_default().to_string();
        Script { name, server, path, support: root.join("support") }
    }

    /// `php` and `weft php` run it alike.
    pub fn prints_the_same(&self, servers: &Servers) {
        let environment = servers.environment(&self.server);
        let by_weft = self.run(&environment, |directory| {
            let mut weft = command::command(directory);
            weft.arg("php");
            weft
        });
        assert_eq!(self.run_by_php(&environment), by_weft, "php printed the left, weft php the right");
    }

    /// Requests of one worker print what `php` prints, though they take turns.
    pub fn prints_the_same_at_once(&self, servers: &Servers) {
        let environment = servers.environment(&self.server);
        let expected = self.run_by_php(&environment);
        let weft = self.serve(&environment);
        let mut clients: Vec<_> = (0..PRINTERS).map(|_| weft.connect()).collect();
        clients.iter_mut().for_each(|client| client.get("/prints"));
        for client in &mut clients {
            let response = client.read();
            assert_eq!(
                expected,
                response.text(),
                "php printed the left, a request ({}) the right",
                response.status
            );
        }
    }

    /// Waits of many requests in one worker take little longer than one.
    pub fn waits_at_once(&self, servers: &Servers) {
        let environment = servers.environment(&self.server);
        let weft = self.serve(&environment);
        let seconds: f64 = weft.get("/seconds").text().parse().expect("a number of seconds");
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
        let took = start.elapsed().as_secs_f64();
        let factor = took / (seconds + LATER_SECONDS);
        println!(
            "{}: {REQUESTS} waits of {seconds} s, half of them {LATER_SECONDS} s later, took {took:.2} s, {factor:.2} times the least",
            self.name
        );
        assert!(took >= seconds, "they took {took} s, so they did not wait {seconds} s");
        // A slow machine may take its time; one after the other they would take twice this.
        assert!(took < seconds * REQUESTS as f64 / 2.0, "{REQUESTS} waits of {seconds} s took {took} s");
    }

    fn serve(&self, environment: &Environment) -> Running {
        let mut server = Server::new(include_str!("support/app.php").trim_start_matches("<?php"))
            .with_variable("CLIENT_SUPPORT", &self.support.display().to_string())
            .with_variable("CLIENT_SCRIPT", &self.path.display().to_string());
        for setting in settings(&self.support) {
            server = server.with("--define", &setting);
        }
        for (name, value) in environment {
            server = server.with_variable(name, value);
        }
        server.start()
    }

    fn run_by_php(&self, environment: &Environment) -> String {
        self.run(environment, |directory| {
            let mut php = Command::new("php");
            php.current_dir(directory);
            php
        })
    }

    /// What it prints when a command runs it.
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
