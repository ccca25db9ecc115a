//! The servers of the suite: the first script that needs a server starts it.
//!
//! Invariant: after `stop`, none of them runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weft_tests::services::{
    Certificate, Delay, MariaDb, Memcached, MongoDb, OpenLdap, Postgres, RabbitMq, Redis, Snmpd, Upstream,
};
use weft_tests::{Running, Server};

/// Environment variables that tell a script where its server is.
pub type Environment = Vec<(String, String)>;

/// A server that is started once.
struct Once<T>(Mutex<Option<Arc<T>>>);

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once(Mutex::new(None))
    }
}

impl<T> Once<T> {
    /// Returns the server and starts it first if necessary. Callers that come meanwhile wait. After a failure the
    /// next caller tries again.
    fn get(&self, start: impl FnOnce() -> T) -> Arc<T> {
        let mut server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(server.get_or_insert_with(|| Arc::new(start())))
    }

    fn stop(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// All servers.
#[derive(Default)]
pub struct Servers {
    mariadb: Once<MariaDb>,
    postgres: Once<Postgres>,
    redis: Once<Redis>,
    memcached: Once<(Memcached, Delay)>,
    mongodb: Once<MongoDb>,
    rabbitmq: Once<RabbitMq>,
    openldap: Once<(OpenLdap, Delay)>,
    snmpd: Once<Snmpd>,
    soap: Once<Running>,
    upstream: Once<Upstream>,
}

impl Servers {
    /// The environment of scripts in the directory `kind`; starts the servers they need.
    pub fn environment(&self, kind: &str) -> Environment {
        let pairs = match kind {
            "mariadb" => self.mariadb(),
            "postgres" => self.postgres(),
            "redis" => self.redis(),
            "memcached" => self.memcached(),
            "rabbitmq" => self.rabbitmq(),
            "openldap" => self.openldap(),
            "snmpd" => vec![("SNMP_PORT", self.snmpd.get(Snmpd::start).port.to_string())],
            "soap" => self.soap(),
            "odbc" => [self.mariadb(), self.postgres()].concat(),
            "network" => self.upstream(),
            "mongodb" => vec![("MONGODB_PORT", self.mongodb.get(MongoDb::start).port.to_string())],
            "sqlite" | "timeouts" | "processes" | "files" | "locks" | "time" => Vec::new(),
            other => panic!("scripts/{other}: no server is known by that name; servers.rs has them"),
        };
        pairs.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// Ends every server.
    pub fn stop(&self) {
        self.mariadb.stop();
        self.postgres.stop();
        self.redis.stop();
        self.memcached.stop();
        self.mongodb.stop();
        self.rabbitmq.stop();
        self.openldap.stop();
        self.snmpd.stop();
        self.soap.stop();
        self.upstream.stop();
    }

    fn upstream(&self) -> Vec<(&'static str, String)> {
        let server = self.upstream.get(|| {
            let server = Upstream::start();
            Certificate::write(server.directory());
            server
        });
        vec![
            ("UPSTREAM_HTTP", format!("http://127.0.0.1:{}", server.http)),
            ("UPSTREAM_LINE", format!("127.0.0.1:{}", server.line)),
            ("UPSTREAM_UDP", format!("127.0.0.1:{}", server.udp)),
            ("UPSTREAM_FTP", format!("127.0.0.1:{}", server.ftp)),
            ("UPSTREAM_STREAM", server.stream().display().to_string()),
            ("UPSTREAM_DIRECTORY", server.directory().display().to_string()),
        ]
    }

    fn mariadb(&self) -> Vec<(&'static str, String)> {
        let server = self.mariadb.get(MariaDb::start);
        vec![
            ("MARIADB_PORT", server.port.to_string()),
            ("MARIADB_SOCKET", server.socket().display().to_string()),
            ("MARIADB_CERTIFICATE", server.certificate().display().to_string()),
        ]
    }

    fn postgres(&self) -> Vec<(&'static str, String)> {
        let server = self.postgres.get(Postgres::start);
        vec![
            ("POSTGRES_PORT", server.port.to_string()),
            ("POSTGRES_DIRECTORY", server.socket_directory().display().to_string()),
        ]
    }

    fn redis(&self) -> Vec<(&'static str, String)> {
        let server = self.redis.get(Redis::start);
        vec![
            ("REDIS_PORT", server.port.to_string()),
            ("REDIS_TLS_PORT", server.tls_port.to_string()),
            ("REDIS_SOCKET", server.socket().display().to_string()),
            ("REDIS_CERTIFICATE", server.certificate().display().to_string()),
        ]
    }

    fn memcached(&self) -> Vec<(&'static str, String)> {
        let servers = self.memcached.get(|| {
            let server = Memcached::start();
            let slow = Delay::before(server.port, Duration::from_millis(500));
            (server, slow)
        });
        vec![
            ("MEMCACHED_PORT", servers.0.port.to_string()),
            ("MEMCACHED_SLOW_PORT", servers.1.port.to_string()),
        ]
    }

    fn rabbitmq(&self) -> Vec<(&'static str, String)> {
        let server = self.rabbitmq.get(RabbitMq::start);
        vec![
            ("RABBITMQ_PORT", server.port.to_string()),
            ("RABBITMQ_TLS_PORT", server.tls_port.to_string()),
            ("RABBITMQ_CERTIFICATE", server.certificate().display().to_string()),
        ]
    }

    fn openldap(&self) -> Vec<(&'static str, String)> {
        let servers = self.openldap.get(|| {
            let server = OpenLdap::start();
            let slow = Delay::before(server.port, Duration::from_millis(250));
            (server, slow)
        });
        vec![("LDAP_PORT", servers.0.port.to_string()), ("LDAP_SLOW_PORT", servers.1.port.to_string())]
    }

    /// A SOAP service, which weft itself serves.
    fn soap(&self) -> Vec<(&'static str, String)> {
        let source = include_str!("support/soap-service.php");
        let server = self.soap.get(|| Server::new(source.trim_start_matches("<?php")).start());
        vec![("SOAP_URL", format!("http://{}/", server.address))]
    }
}
