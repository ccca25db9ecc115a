//! MariaDB with TLS, a unix socket and LOAD DATA LOCAL; user root without a password, database weft.

use std::path::PathBuf;

use super::{Certificate, Service, Setup, free_port};

/// A running MariaDB.
#[derive(Debug)]
pub struct MariaDb {
    /// Its port on 127.0.0.1.
    pub port: u16,
    service: Service,
}

impl MariaDb {
    /// Creates a database directory and starts the server.
    ///
    /// # Panics
    /// If it does not become ready; the message holds its log.
    pub fn start() -> MariaDb {
        let setup = Setup::new();
        let data = format!("--datadir={}", setup.path("data"));
        setup.run(
            "mariadb-install-db",
            &["--no-defaults", &data, "--auth-root-authentication-method=normal", "--skip-test-db"],
        );
        Certificate::write(setup.directory());
        setup.write("init.sql", "CREATE DATABASE weft;\n");
        let port = free_port();
        let paths = ["ssl-cert=cert.pem", "ssl-key=key.pem", "socket=socket", "init-file=init.sql"];
        let paths = paths.map(|option| {
            let (name, file) = option.split_once('=').expect("written here");
            format!("--{name}={}", setup.path(file))
        });
        let mut arguments = vec![
            "--no-defaults",
            data.as_str(),
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            "--local-infile=1",
            "--max-connections=2000",
            // Options for a quick start; the data does not have to survive.
            "--innodb-buffer-pool-size=16M",
            "--innodb-log-file-size=4M",
            "--innodb-flush-log-at-trx-commit=0",
            "--skip-innodb-doublewrite",
            "--performance-schema=OFF",
        ];
        let number = format!("--port={port}");
        arguments.push(&number);
        arguments.extend(paths.iter().map(String::as_str));
        if rustix::process::geteuid().is_root() {
            arguments.push("--user=root");
        }
        let service = setup.start("KILL", &[], "mariadbd", &arguments).wait_for_port(port);
        MariaDb { port, service }
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
