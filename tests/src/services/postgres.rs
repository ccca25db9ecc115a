//! PostgreSQL with TLS and a unix socket; user and database weft, no password.

use std::path::PathBuf;

use super::{Certificate, Service, Setup, free_port};

/// A running PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    /// Its port on 127.0.0.1.
    pub port: u16,
    service: Service,
}

/// Debian installs the server's programs outside of the path, by version.
fn program(name: &str) -> String {
    let versions =
        std::fs::read_dir("/usr/lib/postgresql").expect("postgresql is installed (tools/packages test)");
    let mut found: Vec<PathBuf> =
        versions.map(|entry| entry.expect("an entry can be read").path().join("bin").join(name)).collect();
    found.retain(|path| path.is_file());
    found.sort();
    found.last().expect("postgresql is installed (tools/packages test)").display().to_string()
}

impl Postgres {
    /// Creates a cluster and starts the server.
    ///
    /// # Panics
    /// If it does not become ready; the message holds its log.
    pub fn start() -> Postgres {
        let setup = Setup::without_root();
        let data = setup.path("data");
        let made = ["-D", &data, "-U", "weft", "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"];
        setup.run(&program("initdb"), &made);
        Certificate::write(setup.directory());
        setup.give("cert.pem");
        setup.give("key.pem");
        let port = free_port();
        let settings = [
            format!("port={port}"),
            "listen_addresses=127.0.0.1".into(),
            format!("unix_socket_directories={}", setup.path("")),
            "max_connections=600".into(),
            "shared_buffers=16MB".into(),
            "fsync=off".into(),
            "autovacuum=off".into(),
            "ssl=on".into(),
            format!("ssl_cert_file={}", setup.path("cert.pem")),
            format!("ssl_key_file={}", setup.path("key.pem")),
        ];
        let mut arguments = vec!["-D", &data];
        arguments.extend(settings.iter().flat_map(|setting| ["-c", setting]));
        let ready = program("pg_isready");
        // QUIT is its immediate shutdown, which also frees its shared memory.
        let service = setup.start("QUIT", &[], &program("postgres"), &arguments);
        let service = service.wait_until(|| {
            let mut ask = std::process::Command::new(&ready);
            ask.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]).status().is_ok_and(|s| s.success())
        });
        let created = std::process::Command::new(program("createdb"))
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "weft", "weft"])
            .status();
        assert!(created.is_ok_and(|status| status.success()), "no database: {}", service.log());
        Postgres { port, service }
    }

    /// The directory of its unix socket.
    pub fn socket_directory(&self) -> PathBuf {
        self.service.path("")
    }
}
