//! Certificates that weft sees to itself: everything that an authority, its clients and the operator see of it.
//!
//! The authority is Pebble, whose faults are switched on: it refuses nonces, and asks each name's server.

mod failures;
mod local;
mod orders;
mod renewal;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use weft_tests::services::{Pebble, PebbleSettings, free_port};
use weft_tests::wait::until;
use weft_tests::{Running, Server, command};

const DAYS_90: u64 = 90 * 86_400;
const APP: &str =
    "return fn ($r) => ($_SERVER['HTTPS'] ?? 'plain') . ' ' . $r->header('host') . ' ' . getmypid();";

/// An authority, the ports at which it asks, and a storage that servers share.
struct Place {
    pebble: Pebble,
    storage: tempfile::TempDir,
    http: u16,
    tls: u16,
}

impl Place {
    fn new(seconds: u64, nonces_refused: u8) -> Place {
        let (http, tls) = (free_port(), free_port());
        let settings = PebbleSettings { http_port: http, tls_port: tls, seconds, nonces_refused };
        let storage = tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        Place { pebble: Pebble::start(settings), storage, http, tls }
    }

    /// A server that has its certificates by the authority.
    fn with_authority(&self, server: Server) -> Server {
        self.pebble.write_root(server.directory());
        server
            .with("--acme-directory", &self.pebble.directory)
            .with("--acme-ca", &self.pebble.ca().display().to_string())
            .with("--acme-contact", "admin@a.example")
            .with("--acme-storage", &self.storage.path().display().to_string())
    }

    /// A server with a name, and an address without TLS.
    fn server(&self, name: &str) -> Server {
        self.with_authority(Server::new(APP))
            .with("--listen", &format!("https://{name}:{}", self.tls))
            .with("--listen", &format!("127.0.0.1:{}", self.http))
    }

    /// A file of the storage.
    fn kept(&self, name: &str) -> PathBuf {
        self.storage.path().join(format!("localhost-{}-dir", self.pebble.address().port())).join(name)
    }

    fn tls_address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.tls).into()
    }
}

/// What curl prints for a URL of a name; the authority is trusted.
fn try_curl(weft: &Running, address: SocketAddr, url: &str, flags: &[&str]) -> command::Output {
    let mut curl = Command::new("curl");
    curl.current_dir(weft.directory()).args(["-sS", "--cacert", "pebble.pem", "--connect-to"]);
    command::finish(curl.arg(format!("::{address}")).args(flags).arg(url))
}

/// Waits until a name is served with a certificate; returns what the application says.
fn served(weft: &Running, address: SocketAddr, name: &str) -> String {
    until("a certificate", || {
        let output = try_curl(weft, address, &format!("https://{name}/"), &[]);
        (output.code == Some(0)).then_some(output.stdout)
    })
}

/// The serial number of the certificate that a name has; empty if it has none.
fn serial(address: SocketAddr, name: &str) -> String {
    let mut client = Command::new("openssl");
    client.args(["s_client", "-connect", &address.to_string(), "-servername", name]).stdin(Stdio::null());
    let said = command::finish(&mut client).stdout;
    let Some(begin) = said.find("-----BEGIN CERTIFICATE-----") else { return String::new() };
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), &said[begin..]).expect("the test's own file");
    let mut x509 = Command::new("openssl");
    command::finish(x509.args(["x509", "-noout", "-serial", "-in"]).arg(file.path())).stdout
}
