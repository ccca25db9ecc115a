//! A database server, from a URL: where it is and who asks.
//!
//! Must not know how it is asked. Invariant: only `Display` and the messages of mistakes are for reports, and they have neither user
//! nor password.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use super::pool::Pool;
use crate::config::decoded;

/// What speaks there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// MySQL or MariaDB.
    Mysql,
    /// PostgreSQL.
    Pgsql,
    /// Redis, or Valkey.
    Redis,
}

impl Kind {
    /// Its scheme in URLs, by which PHP's DSNs name it, too.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mysql => "mysql",
            Kind::Pgsql => "pgsql",
            Kind::Redis => "redis",
        }
    }

    /// Where its own client looks for a password: mysql(1), libpq's environment variables, redis-cli(1).
    pub fn password_variable(self) -> &'static str {
        match self {
            Kind::Mysql => "MYSQL_PWD",
            Kind::Pgsql => "PGPASSWORD",
            Kind::Redis => "REDISCLI_AUTH",
        }
    }

    /// Debian's package with PHP's client.
    pub fn package(self) -> &'static str {
        match self {
            Kind::Mysql => "php-mysql",
            Kind::Pgsql => "php-pgsql",
            Kind::Redis => "php-redis",
        }
    }

    /// Its unit in Debian.
    pub fn service(self) -> &'static str {
        match self {
            Kind::Mysql => "mariadb",
            Kind::Pgsql => "postgresql",
            Kind::Redis => "redis-server",
        }
    }

    fn port(self) -> u16 {
        match self {
            Kind::Mysql => 3306,
            Kind::Pgsql => 5432,
            Kind::Redis => 6379,
        }
    }
}

/// A way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A name or an address, without brackets, and a port.
    Host(String, u16),
    /// A unix socket.
    Socket(String),
}

/// A server.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pub kind: Kind,
    pub place: Place,
    pub user: String,
    pub password: String,
    /// Empty if the URL names none.
    pub database: String,
    /// Whether the client has to encrypt; PostgreSQL's decides by itself.
    pub is_tls: bool,
    /// The application's pool of connections there.
    pub pool: Pool,
}

const EXPECTED: &str = "is not mysql://, pgsql:// or redis:// (rediss:// with TLS) with [USER[:PASSWORD]@]HOST[:PORT][/DATABASE], nor \
                        the same with +unix (mysql+unix://) and [USER[:PASSWORD]@]/PATH/OF/SOCKET";

const OPTIONS: &str = "has an option that is none of database=NAME, max=CONNECTIONS and idleTimeout=SECONDS of the pool, and, for \
                       MySQL, tls=1";

impl Target {
    /// From a URL; `environment` has the password if the URL has none.
    ///
    /// # Errors
    /// What is wrong, without the URL.
    pub fn parse(url: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Target, String> {
        let (scheme, rest) = url.split_once("://").ok_or(EXPECTED)?;
        let (name, is_socket) = scheme.strip_suffix("+unix").map_or((scheme, false), |name| (name, true));
        let kind = match name {
            "mysql" | "mariadb" => Kind::Mysql,
            "pgsql" | "postgres" | "postgresql" => Kind::Pgsql,
            "redis" | "rediss" => Kind::Redis,
            _ => return Err(EXPECTED.to_owned()),
        };
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("has a space or another character that a URL writes as %20".to_owned());
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (credentials, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        if credentials.contains('@') {
            return Err("has an @ in the user or the password: write it as %40".to_owned());
        }
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        let place = match (is_socket, host, path.len()) {
            (true, "", 2..) => Place::Socket(decoded(path)),
            (false, _, _) if !host.is_empty() => host_of(host, kind)?,
            _ => return Err(EXPECTED.to_owned()),
        };
        let mut target = Target {
            kind,
            place,
            user: decoded(user),
            password: decoded(password),
            database: if is_socket { String::new() } else { decoded(path.trim_start_matches('/')) },
            is_tls: name == "rediss",
            pool: Pool::default(),
        };
        target.options(query)?;
        if target.password.is_empty() {
            target.password = environment(kind.password_variable()).unwrap_or_default();
        }
        Ok(target)
    }

    fn options(&mut self, query: &str) -> Result<(), String> {
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("database", name)) => self.database = decoded(name),
                Some(("tls", "1")) if self.kind == Kind::Mysql => self.is_tls = true,
                Some((name, value)) if self.pool.take(name, value) => {}
                _ => return Err(OPTIONS.to_owned()),
            }
        }
        Ok(())
    }

    /// Whether it is on this machine.
    pub fn is_local(&self) -> bool {
        match &self.place {
            Place::Socket(_) => true,
            Place::Host(host, _) => {
                host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
            }
        }
    }

    /// Host and port as PHP's clients want them. To MySQL's, `localhost` is a socket, whatever the port; PostgreSQL's wants the
    /// directory of its socket, whose name has the port (libpq, 34.1.2).
    pub fn address(&self) -> (String, u16) {
        match &self.place {
            Place::Host(host, port) if host == "localhost" => ("127.0.0.1".to_owned(), *port),
            Place::Host(host, port) => (host.clone(), *port),
            Place::Socket(path) if self.kind == Kind::Pgsql => {
                let named = path.rsplit_once("/.s.PGSQL.");
                let named =
                    named.and_then(|(directory, port)| Some((directory.to_owned(), port.parse().ok()?)));
                named.unwrap_or((path.clone(), self.kind.port()))
            }
            Place::Socket(path) => (path.clone(), 0),
        }
    }
}

fn host_of(text: &str, kind: Kind) -> Result<Place, String> {
    let wrong = || "has a port that is no number from 1 to 65535".to_owned();
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Ok(kind.port()), |port| port.parse().map_err(|_| wrong()))?;
    // A DSN would take what follows for further settings.
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
    if port == 0 {
        return Err(wrong());
    }
    if host.is_empty() || !host.bytes().all(is_host) {
        return Err("has a host that is neither a name nor an address".to_owned());
    }
    Ok(Place::Host(host.to_owned(), port))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind.name();
        match &self.place {
            Place::Host(host, port) if host.contains(':') => write!(f, "{name} at [{host}]:{port}"),
            Place::Host(host, port) => write!(f, "{name} at {host}:{port}"),
            Place::Socket(path) => write!(f, "{name} at {}", Path::new(path).display()),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}
