//! Pebble, Let's Encrypt's ACME server for tests, with a DNS server of its own that knows every name.
//!
//! `tools/pebble` builds both from their Go module. It certifies for seconds or days as wanted, and makes mistakes that an
//! authority may make: it refuses nonces, and it validates names as the public ones do.

use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{Authority, Service, Setup, free_port};
use crate::command;

/// How an authority is to be.
#[derive(Debug, Clone, Copy)]
pub struct PebbleSettings {
    /// Where it asks for names without TLS.
    pub http_port: u16,
    /// Where it asks with TLS.
    pub tls_port: u16,
    /// How long its certificates are valid.
    pub seconds: u64,
    /// How many of a hundred nonces it refuses.
    pub nonces_refused: u8,
}

/// A running authority.
#[derive(Debug)]
pub struct Pebble {
    /// The URL of its directory.
    pub directory: String,
    management: u16,
    dns_management: u16,
    service: Service,
    _dns: Service,
}

fn programs() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/pebble");
    let output = Command::new(script).output().expect("tools/pebble");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "tools/pebble: {said}");
    String::from_utf8_lossy(&output.stdout).trim().into()
}

/// A port of the loopback that no UDP socket has, either.
fn free_port_of_both() -> u16 {
    let free = |port: &u16| UdpSocket::bind(("127.0.0.1", *port)).is_ok();
    std::iter::repeat_with(free_port).find(free).expect("a free port")
}

impl Pebble {
    /// Starts one.
    ///
    /// # Panics
    /// If it cannot be built or started; the message holds its log.
    pub fn start(settings: PebbleSettings) -> Pebble {
        let programs = programs();
        let path = |name: &str| programs.join(name).display().to_string();
        let (dns, dns_management) = (free_port_of_both(), free_port());
        let local = |port: u16| format!("127.0.0.1:{port}");
        let (server, control) = (local(dns), local(dns_management));
        let arguments = [
            "-dnsserver",
            &server,
            "-management",
            &control,
            "-defaultIPv4",
            "127.0.0.1",
            "-defaultIPv6",
            "",
            "-http01",
            "",
            "-https01",
            "",
            "-tlsalpn01",
            "",
            "-doh",
            "",
        ];
        let resolver = Setup::new().start("KILL", &[], &path("pebble-challtestsrv"), &arguments);
        let resolver = resolver.wait_for_port(dns_management);
        let setup = Setup::new();
        let authority = Authority::new(setup.directory());
        authority.certify("pebble", "DNS:localhost,IP:127.0.0.1", 9);
        let (port, management) = (free_port(), free_port());
        let config = json!({ "pebble": {
            "listenAddress": local(port),
            "managementListenAddress": local(management),
            "certificate": "pebble.pem",
            "privateKey": "pebble.key",
            "httpPort": settings.http_port,
            "tlsPort": settings.tls_port,
            "ocspResponderURL": "",
            "externalAccountBindingRequired": false,
            "domainBlocklist": ["blocked.example"],
            "retryAfter": { "authz": 1, "order": 1 },
            "keyAlgorithm": "ecdsa",
            "profiles": { "default": { "description": "", "validityPeriod": settings.seconds } },
        }});
        setup.write("pebble.json", &config.to_string());
        let refused = settings.nonces_refused.to_string();
        let environment = [
            ("PEBBLE_WFE_NONCEREJECT", refused.as_str()),
            ("PEBBLE_VA_ALWAYS_VALID", "0"),
            ("PEBBLE_VA_NOSLEEP", "1"),
            // Each order is validated.
            ("PEBBLE_AUTHZREUSE", "0"),
        ];
        let arguments = ["-config", "pebble.json", "-dnsserver", &server, "-strict"];
        let service = setup.start("KILL", &environment, &path("pebble"), &arguments);
        let service = service.wait_for_port(port).wait_for_port(management);
        let directory = format!("https://localhost:{port}/dir");
        Pebble { directory, management, dns_management, service, _dns: resolver }
    }

    /// The authority that certifies its own server.
    pub fn ca(&self) -> PathBuf {
        self.service.path("ca.pem")
    }

    /// Its own certificate as an authority, which clients of what it certifies need; written into a directory as
    /// `pebble.pem`.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn write_root(&self, directory: &Path) {
        let url = format!("https://127.0.0.1:{}/roots/0", self.management);
        let output = command::finish(Command::new("curl").args(["-sS", "--cacert"]).arg(self.ca()).arg(url));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        std::fs::write(directory.join("pebble.pem"), output.stdout).expect("the test's own directory");
    }

    /// How many orders it has got.
    pub fn orders(&self) -> usize {
        self.service.log().matches("Added order ").count()
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.service.log()
    }

    /// Lets a name lead to an address.
    ///
    /// # Panics
    /// If its DNS server does not answer.
    pub fn lead(&self, name: &str, address: &str) {
        let body = json!({ "host": format!("{name}."), "addresses": [address] }).to_string();
        self.tell("add-a", &body);
    }

    /// Lets a name have no address, or again one.
    ///
    /// # Panics
    /// If its DNS server does not answer.
    pub fn lose(&self, name: &str, is_lost: bool) {
        let body = json!({ "host": format!("{name}.") }).to_string();
        self.tell(if is_lost { "set-servfail" } else { "clear-servfail" }, &body);
    }

    fn tell(&self, what: &str, body: &str) {
        let url = format!("http://127.0.0.1:{}/{what}", self.dns_management);
        let output = command::finish(Command::new("curl").args(["-sS", "--fail", "-d", body]).arg(url));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    }

    /// Where its directory listens.
    pub fn address(&self) -> SocketAddr {
        let port = self.directory.trim_start_matches("https://localhost:").trim_end_matches("/dir");
        ([127, 0, 0, 1], port.parse().expect("a port")).into()
    }
}
