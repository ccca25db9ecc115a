//! A backplane: a real server that can be killed and started again at the same port, with what it has on disk.

use std::path::Path;
use std::process::Command;

use weft_tests::services::{Service, Setup, free_port};

/// What the backplane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Redis,
    Nats,
}

/// A server.
pub struct Backplane {
    kind: Kind,
    port: u16,
    /// What it keeps.
    data: tempfile::TempDir,
    more: Vec<String>,
    service: Option<Service>,
}

const PASSWORD: &str = "se-cret";

impl Backplane {
    /// One that runs, with further arguments.
    pub fn start_with(kind: Kind, more: &[&str]) -> Backplane {
        let data = tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        let more = more.iter().map(ToString::to_string).collect();
        let mut backplane = Backplane { kind, port: free_port(), data, more, service: None };
        backplane.go_on();
        backplane
    }

    /// One that runs, and keeps what hosts that were cut off have missed.
    pub fn start(kind: Kind) -> Backplane {
        match kind {
            Kind::Redis => Backplane::start_with(kind, &["--appendonly", "yes", "--appendfsync", "always"]),
            Kind::Nats => Backplane::start_with(kind, &["-js"]),
        }
    }

    /// Where hosts find it.
    pub fn url(&self) -> String {
        match self.kind {
            Kind::Redis => format!("redis://:{PASSWORD}@127.0.0.1:{}", self.port),
            Kind::Nats => format!("nats://weft:{PASSWORD}@127.0.0.1:{}", self.port),
        }
    }

    /// As the log names it.
    pub fn shown(&self) -> String {
        match self.kind {
            Kind::Redis => format!("redis://127.0.0.1:{}", self.port),
            Kind::Nats => format!("nats://127.0.0.1:{}", self.port),
        }
    }

    /// Kills it, by SIGKILL.
    pub fn kill(&mut self) {
        self.service = None;
    }

    /// Starts it again.
    pub fn go_on(&mut self) {
        let (setup, port, data) =
            (Setup::new(), self.port.to_string(), self.data.path().display().to_string());
        let (program, mut arguments) = match self.kind {
            Kind::Redis => (
                "redis-server",
                vec![
                    "--bind",
                    "127.0.0.1",
                    "--port",
                    &port,
                    "--dir",
                    &data,
                    "--requirepass",
                    PASSWORD,
                    "--save",
                    "",
                ],
            ),
            Kind::Nats => (
                nats(),
                vec!["-a", "127.0.0.1", "-p", &port, "-sd", &data, "--user", "weft", "--pass", PASSWORD],
            ),
        };
        arguments.extend(self.more.iter().map(String::as_str));
        self.service = Some(setup.start("KILL", &[], program, &arguments).wait_for_port(self.port));
    }

    /// What a client of the system says.
    pub fn redis(&self, arguments: &[&str]) -> String {
        let mut client = Command::new("redis-cli");
        client.args(["-p", &self.port.to_string(), "-a", PASSWORD, "--no-auth-warning"]).args(arguments);
        weft_tests::command::finish(&mut client).stdout
    }
}

/// Debian has it where only root's PATH leads.
fn nats() -> &'static str {
    let elsewhere = "/usr/sbin/nats-server";
    if Path::new(elsewhere).exists() { elsewhere } else { "nats-server" }
}
