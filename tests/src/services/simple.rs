//! Redis, memcached and an SNMP agent: each is one process with a few flags.

use std::path::PathBuf;

use super::{Certificate, Service, Setup, free_port};

/// A running Redis, with a separate TLS port and a unix socket.
#[derive(Debug)]
pub struct Redis {
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// Its port for TLS.
    pub tls_port: u16,
    service: Service,
}

impl Redis {
    /// Starts a Redis that keeps nothing on disk.
    ///
    /// # Panics
    /// If it does not become ready; the message holds its log.
    pub fn start() -> Redis {
        let setup = Setup::new();
        Certificate::write(setup.directory());
        let (port, tls_port) = (free_port(), free_port());
        let (plain, tls) = (port.to_string(), tls_port.to_string());
        let (socket, cert, key) = (setup.path("socket"), setup.path("cert.pem"), setup.path("key.pem"));
        let arguments = [
            "--bind",
            "127.0.0.1",
            "--port",
            &plain,
            "--tls-port",
            &tls,
            "--unixsocket",
            &socket,
            "--tls-cert-file",
            &cert,
            "--tls-key-file",
            &key,
            "--tls-auth-clients",
            "no",
            "--save",
            "",
            "--tls-ca-cert-file",
            &cert,
        ];
        let service = setup.start("KILL", &[], "redis-server", &arguments);
        Redis { port, tls_port, service: service.wait_for_port(port).wait_for_port(tls_port) }
    }

    /// Its unix socket.
    pub fn socket(&self) -> PathBuf {
        self.service.path("socket")
    }

    /// The certificate that its clients can check.
    pub fn certificate(&self) -> PathBuf {
        self.service.path("cert.pem")
    }
}

/// A running memcached.
#[derive(Debug)]
pub struct Memcached {
    /// Its port on 127.0.0.1.
    pub port: u16,
    _service: Service,
}

impl Memcached {
    /// Starts memcached.
    ///
    /// # Panics
    /// If it does not become ready; the message holds its log.
    pub fn start() -> Memcached {
        let setup = Setup::without_root();
        let port = free_port();
        let number = port.to_string();
        let service = setup.start("KILL", &[], "memcached", &["-l", "127.0.0.1", "-p", &number, "-m", "16"]);
        Memcached { port, _service: service.wait_for_port(port) }
    }
}

/// A running SNMP agent of Net-SNMP.
#[derive(Debug)]
pub struct Snmpd {
    /// Its port on 127.0.0.1, for UDP and TCP.
    pub port: u16,
    _service: Service,
}

impl Snmpd {
    /// Starts an agent that lets the community `public` read, and the user `reader` of version 3.
    ///
    /// # Panics
    /// If it does not become ready; the message holds its log.
    pub fn start() -> Snmpd {
        let setup = Setup::new();
        setup.write(
            "snmpd.conf",
            "rocommunity public\nsysName agent\nsysLocation here\nsysContact nobody\n\
             createUser reader SHA \"a long pass phrase\" AES \"another pass phrase\"\nrouser reader priv\n",
        );
        let port = free_port();
        let (conf, state) = (setup.path("snmpd.conf"), setup.path("state"));
        let address = format!("udp:127.0.0.1:{port},tcp:127.0.0.1:{port}");
        // Without its own directory for what it keeps, it would write into the system's.
        let environment = [("SNMP_PERSISTENT_DIR", state.as_str()), ("MIBS", "")];
        let arguments = ["-f", "-Lo", "-C", "-c", &conf, &address];
        let service = setup.start("KILL", &environment, "/usr/sbin/snmpd", &arguments);
        Snmpd { port, _service: service.wait_for_port(port) }
    }
}
