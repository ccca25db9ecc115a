//! A running `weft serve` with its own application in its own directory.
//!
//! Invariant: when it goes out of scope, its whole process group is killed and its directory is deleted.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::client::Client;
use crate::command;
use crate::process;
use crate::response::Response;
use crate::wait::until;

/// A server to be started.
#[derive(Debug)]
pub struct Server {
    directory: tempfile::TempDir,
    command: Command,
    listens: bool,
    is_docroot: bool,
}

/// A started server.
#[derive(Debug)]
pub struct Running {
    /// The first TCP address it listens on.
    pub address: SocketAddr,
    directory: tempfile::TempDir,
    child: Child,
    status: Option<ExitStatus>,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// One worker, on a port that the kernel chooses, in a new directory.
    fn of_nothing() -> Server {
        let directory =
            tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        Server { command: command::command(directory.path()), directory, listens: false, is_docroot: false }
    }

    /// A server with this application.
    ///
    /// `source` is PHP without its opening tag.
    pub fn new(source: &str) -> Server {
        Server::of_script("app.php", &format!("<?php\n{source}\n"))
    }

    /// A server whose application is in its configuration file.
    pub fn configured() -> Server {
        let mut server = Server::of_nothing();
        server.command.arg("serve");
        server
    }

    /// A server with a script of this name; `source` is the whole file.
    pub fn of_script(name: &str, source: &str) -> Server {
        let mut server = Server::of_nothing();
        server.write(name, source);
        server.command.args(["serve", name]);
        server
    }

    /// A server with the document root `public` in its directory, which holds these files.
    pub fn of_docroot(files: &[(&str, &str)]) -> Server {
        let mut server = Server::of_nothing();
        std::fs::create_dir(server.directory().join("public")).expect("a new directory");
        for (name, text) in files {
            server.write(&format!("public/{name}"), text);
        }
        server.command.args(["serve", "public"]);
        server.is_docroot = true;
        server
    }

    /// A server with a document root elsewhere.
    pub fn of(docroot: &Path) -> Server {
        let mut server = Server::of_nothing();
        server.command.arg("serve").arg(docroot);
        server
    }

    /// Adds a flag and its value. `--listen` and `--workers` replace the defaults.
    pub fn with(mut self, flag: &str, value: &str) -> Server {
        self.listens |= flag == "--listen";
        self.command.arg(format!("{flag}={value}"));
        self
    }

    /// Leaves its listeners to its configuration file, which a reload reads again.
    pub fn listening_as_configured(mut self) -> Server {
        self.listens = true;
        self
    }

    /// Adds a flag without a value.
    pub fn with_flag(mut self, flag: &str) -> Server {
        self.command.arg(flag);
        self
    }

    /// Sets an environment variable.
    pub fn with_variable(mut self, name: &str, value: &str) -> Server {
        self.command.env(name, value);
        self
    }

    /// Runs the server through another program, given by its path.
    pub fn run_by(mut self, program: &Path) -> Server {
        let mut command = Command::new(program);
        command.args(self.command.get_args()).current_dir(self.directory()).stdin(Stdio::null());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        self.command = command;
        self
    }

    /// Adds a file to its directory.
    pub fn with_file(self, name: &str, text: &str) -> Server {
        self.write(name, text);
        self
    }

    /// The directory in which it will run.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, name: &str, text: &str) {
        write_file(&self.directory.path().join(name), text);
    }

    /// Starts it and waits until it is ready.
    ///
    /// # Panics
    /// If the server does not become ready; the message holds its output.
    pub fn start(self) -> Running {
        let mut running = self.spawn();
        running.wait_for_log("weft: ready\n");
        running.address = running.addresses().first().copied().unwrap_or(running.address);
        running
    }

    /// Starts it without waiting for anything.
    ///
    /// # Panics
    /// If the binary cannot be run.
    pub fn spawn(mut self) -> Running {
        if !self.listens {
            self.command.args(["--listen", "127.0.0.1:0"]);
        }
        // Runs a whole suite with another number of instances: a client must not notice.
        if let Ok(instances) = std::env::var("DOCROOT_INSTANCES")
            && self.is_docroot
            && !self.command.get_args().any(|a| a.to_string_lossy().starts_with("--instances"))
        {
            self.command.args(["--instances", &instances]);
            if instances != "1" {
                self.command.args(["--verify-instances", "--yield-at-calls"]);
            }
        }
        if !self.command.get_args().any(|a| a.to_string_lossy().starts_with("--workers")) {
            self.command.args(["--workers", "1"]);
        }
        // A suite that knows its workers by number or pid wants no others.
        if !self.command.get_args().any(|a| a.to_string_lossy().starts_with("--extra-workers-max")) {
            let max = std::env::var("EXTRA_WORKERS").unwrap_or_else(|_| "0".into());
            self.command.args(["--extra-workers-max", &max]);
        }
        self.command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("weft can be run");
        let log = Arc::new(Mutex::new(String::new()));
        collect(child.stderr.take().expect("piped"), Arc::clone(&log));
        collect(child.stdout.take().expect("piped"), Arc::clone(&log));
        Running { address: ([127, 0, 0, 1], 0).into(), directory: self.directory, child, status: None, log }
    }
}

/// Copies lines into the log as they arrive; ends with the last process that can write them.
fn collect(from: impl std::io::Read + Send + 'static, log: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            log.lock().expect("no holder panics").push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    });
}

fn write_file(path: &Path, text: &str) {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).expect("the test's own directory");
    }
    // Written aside and renamed, as a deployment does, so that half a file is never visible.
    let aside = path.with_extension("new");
    std::fs::write(&aside, text).and_then(|()| std::fs::rename(&aside, path)).expect("the test's own file");
}

impl Running {
    /// The TCP addresses at which it reports to listen, with or without TLS.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let log = self.log();
        let urls = log.lines().filter_map(|line| line.strip_prefix("weft: listening on "));
        let urls =
            urls.filter_map(|url| url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")));
        urls.filter_map(|rest| rest.trim_end_matches('/').parse().ok()).collect()
    }

    /// Its output so far, stderr and stdout.
    pub fn log(&self) -> String {
        self.log.lock().expect("no holder panics").clone()
    }

    /// Waits until its output contains `text`.
    ///
    /// # Panics
    /// If the text does not appear, or the server ends first.
    pub fn wait_for_log(&mut self, text: &str) {
        self.wait_for_log_times(text, 1);
    }

    /// Waits until its output contains `text` this many times.
    ///
    /// # Panics
    /// As [`Running::wait_for_log`].
    pub fn wait_for_log_times(&mut self, text: &str, times: usize) {
        let found = until_or_end(self, |running| running.log().matches(text).count() >= times);
        assert!(found, "weft did not say {text:?} {times} times; it said:\n{}", self.log());
    }

    /// The directory in which it runs.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A path in its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Changes a file of its directory in one step.
    pub fn write(&self, name: &str, text: &str) {
        write_file(&self.path(name), text);
    }

    /// The content of a file in its directory; empty if it is missing.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Replaces the application.
    pub fn write_application(&self, source: &str) {
        self.write("app.php", &format!("<?php\n{source}\n"));
    }

    /// A new connection.
    pub fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// The response to one GET request on a connection of its own.
    pub fn get(&self, target: &str) -> Response {
        let mut client = self.connect();
        client.get(target);
        client.read()
    }

    /// What an application lists at `/calls`, once `last` is among it.
    pub fn calls_until(&self, last: &str) -> Vec<String> {
        until(last, || {
            let calls = self.get("/calls").json();
            let calls: Vec<String> =
                calls.as_array()?.iter().filter_map(|call| call.as_str().map(str::to_owned)).collect();
            calls.iter().any(|call| call == last).then_some(calls)
        })
    }

    /// The response to these bytes, sent on a new connection.
    pub fn say(&self, bytes: impl AsRef<[u8]>) -> Response {
        let mut client = self.connect();
        client.send(bytes);
        client.read()
    }

    /// The master's pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The pids of its living workers.
    pub fn workers(&self) -> Vec<u32> {
        process::children(self.pid()).into_iter().filter(|pid| process::is_alive(*pid)).collect()
    }

    /// Signals the master.
    pub fn signal(&self, signal: Signal) {
        process::signal(self.pid(), signal);
    }

    /// Whether the master is still running.
    pub fn is_alive(&mut self) -> bool {
        self.try_wait().is_none()
    }

    /// Waits until the master has ended.
    ///
    /// # Panics
    /// If the master does not end.
    pub fn wait(&mut self) -> ExitStatus {
        until("weft's end", || self.try_wait())
    }

    fn try_wait(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("it is our child");
        }
        self.status
    }

    /// Runs another weft command in its directory.
    pub fn weft(&self, arguments: &[&str]) -> command::Output {
        command::weft(self.directory(), arguments)
    }
}

fn until_or_end(running: &mut Running, mut condition: impl FnMut(&Running) -> bool) -> bool {
    until("weft to say something", || {
        // Checked first, so that output written while the process ends is not missed.
        let ended = running.try_wait().is_some();
        if condition(running) {
            return Some(true);
        }
        // Each reader of its output holds the log, too, until there is nothing left to read.
        (ended && Arc::strong_count(&running.log) == 1).then_some(false)
    })
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- what weft said ---\n{}---", self.log());
        }
        if let Some(group) = Pid::from_raw(self.pid() as i32) {
            // No process may be left in the group.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
