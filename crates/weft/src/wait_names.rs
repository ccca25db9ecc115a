//! The names of what coroutines wait for: those of `weft_rt`, and the services that weft tells apart.
//!
//! Must not know how a service is recognized. Invariant: a kind has one name in every mode and every process of a server.

use weft_rt::WaitKind;

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Service {
    /// MySQL or MariaDB.
    MySql,
    /// PostgreSQL.
    PostgreSql,
    /// Redis or Valkey.
    Redis,
    /// memcached.
    Memcached,
    /// HTTP.
    Http,
    /// Mail: SMTP, IMAP, POP3.
    Mail,
    /// A directory: LDAP.
    Ldap,
    /// A message queue: AMQP, Kafka, NATS, STOMP.
    Queue,
}

impl Service {
    /// What waits for it are counted as.
    pub const fn kind(self) -> WaitKind {
        WaitKind::Service(self as u8)
    }
}

/// The name of a kind.
pub fn name_of(kind: WaitKind) -> &'static str {
    NAMES.iter().find(|(named, _)| *named == kind).map_or("server", |(_, name)| name)
}

/// Every kind of wait with its name.
pub const NAMES: [(WaitKind, &str); 17] = [
    (WaitKind::Coroutine, "coroutine"),
    (WaitKind::Client, "client"),
    (Service::MySql.kind(), "mysql"),
    (Service::PostgreSql.kind(), "postgresql"),
    (Service::Redis.kind(), "redis"),
    (Service::Memcached.kind(), "memcached"),
    (Service::Http.kind(), "http"),
    (Service::Mail.kind(), "mail"),
    (Service::Ldap.kind(), "ldap"),
    (Service::Queue.kind(), "queue"),
    (WaitKind::Server, "server"),
    (WaitKind::Dns, "dns"),
    (WaitKind::Pipe, "pipe"),
    (WaitKind::Disk, "disk"),
    (WaitKind::Lock, "lock"),
    (WaitKind::Child, "child"),
    (WaitKind::Sleep, "sleep"),
];
