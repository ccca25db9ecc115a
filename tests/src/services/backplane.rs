//! A backplane: a real server that can be killed and started again at the same port, with what it has on disk.
//!
//! Must not know what hosts send through it. Invariant: it is where it was, and has its password, however often it is killed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Authority, Service, Setup, free_port};

/// What the backplane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Redis, with its pub/sub and a stream.
    Redis,
    /// NATS, with JetStream unless a test wants it without.
    Nats,
}

/// A server.
#[derive(Debug)]
pub struct Backplane {
    kind: Kind,
    address: SocketAddr,
    /// What it keeps.
    data: tempfile::TempDir,
    more: Vec<String>,
    is_tls: bool,
    service: Option<Service>,
}

const PASSWORD: &str = "se-cret";

impl Backplane {
    /// One that runs, with further arguments.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_with(kind: Kind, more: &[&str]) -> Backplane {
        Backplane::start_at(kind, Ipv4Addr::LOCALHOST.into(), more)
    }

    /// The same, at another address of this machine.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_at(kind: Kind, address: IpAddr, more: &[&str]) -> Backplane {
        Backplane::begin(kind, address, more, false)
    }

    /// One that keeps what was missed and speaks TLS only, with a certificate for 127.0.0.1 of an authority of its own.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_over_tls(kind: Kind) -> Backplane {
        Backplane::begin(kind, Ipv4Addr::LOCALHOST.into(), Backplane::keeping(kind), true)
    }

    fn begin(kind: Kind, address: IpAddr, more: &[&str], is_tls: bool) -> Backplane {
        let data = tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        let more = more.iter().map(ToString::to_string).collect();
        let address = SocketAddr::new(address, free_port());
        let mut backplane = Backplane { kind, address, data, more, is_tls, service: None };
        if is_tls {
            Authority::new(backplane.data.path()).certify("server", "IP:127.0.0.1", 2);
        }
        backplane.go_on();
        backplane
    }

    /// The certificate of the authority that certified it.
    pub fn authority(&self) -> PathBuf {
        self.data.path().join("ca.pem")
    }

    /// One that runs, and keeps what hosts that were cut off have missed.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(kind: Kind) -> Backplane {
        Backplane::start_with(kind, Backplane::keeping(kind))
    }

    /// The arguments with which it keeps that.
    pub fn keeping(kind: Kind) -> &'static [&'static str] {
        match kind {
            Kind::Redis => &["--appendonly", "yes", "--appendfsync", "always"],
            Kind::Nats => &["-js"],
        }
    }

    /// Where hosts find it.
    pub fn url(&self) -> String {
        let user = if self.kind == Kind::Nats { "weft" } else { "" };
        format!("{}://{user}:{PASSWORD}@{}", self.scheme(), self.address)
    }

    /// As the log names it.
    pub fn shown(&self) -> String {
        format!("{}://{}", self.scheme(), self.address)
    }

    fn scheme(&self) -> &'static str {
        match (self.kind, self.is_tls) {
            (Kind::Redis, false) => "redis",
            (Kind::Redis, true) => "rediss",
            (Kind::Nats, false) => "nats",
            (Kind::Nats, true) => "tls",
        }
    }

    /// Kills it, by SIGKILL.
    pub fn kill(&mut self) {
        self.service = None;
    }

    /// Starts it again.
    ///
    /// # Panics
    /// If it does not start.
    pub fn go_on(&mut self) {
        let (setup, data) = (Setup::new(), self.data.path().display().to_string());
        let (ip, port) = (self.address.ip().to_string(), self.address.port().to_string());
        let [certificate, key] = ["server.pem", "server.key"].map(|file| format!("{data}/{file}"));
        let (program, mut arguments) = match self.kind {
            Kind::Redis => {
                let port: &[&str] =
                    if self.is_tls { &["--port", "0", "--tls-port", &port] } else { &["--port", &port] };
                let always = ["--bind", &ip, "--dir", &data, "--requirepass", PASSWORD, "--save", ""];
                ("redis-server", [port, &always].concat())
            }
            Kind::Nats => {
                (nats(), vec!["-a", &ip, "-p", &port, "-sd", &data, "--user", "weft", "--pass", PASSWORD])
            }
        };
        if self.is_tls {
            arguments.extend(match self.kind {
                Kind::Redis => {
                    let own = ["--tls-cert-file", &certificate, "--tls-key-file", &key];
                    [own, ["--tls-auth-clients", "no", "--tls-ca-cert-file", &certificate]].concat()
                }
                Kind::Nats => vec!["--tls", "--tlscert", &certificate, "--tlskey", &key],
            });
        }
        arguments.extend(self.more.iter().map(String::as_str));
        let service = setup.start("KILL", &[], program, &arguments);
        self.service = Some(service.wait_until(|| TcpStream::connect(self.address).is_ok()));
    }

    /// What a client of the system says.
    pub fn redis(&self, arguments: &[&str]) -> String {
        let mut client = Command::new("redis-cli");
        client
            .args([
                "-h",
                &self.address.ip().to_string(),
                "-p",
                &self.address.port().to_string(),
                "-a",
                PASSWORD,
                "--no-auth-warning",
            ])
            .args(arguments);
        crate::command::finish(&mut client).stdout
    }
}

/// Debian has it where only root's PATH leads.
fn nats() -> &'static str {
    let elsewhere = "/usr/sbin/nats-server";
    if Path::new(elsewhere).exists() { elsewhere } else { "nats-server" }
}
