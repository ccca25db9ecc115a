//! What the scripts and handlers of this suite find in their environment: its directory, and the servers they need.
//!
//! Invariant: each server is started once, when the first script needs it, and ends with this process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use weft_tests::services::{MariaDb, Postgres, Redis};

static MARIADB: OnceLock<MariaDb> = OnceLock::new();
static POSTGRES: OnceLock<Postgres> = OnceLock::new();
static REDIS: OnceLock<Redis> = OnceLock::new();

/// This suite's MariaDB.
pub fn mariadb() -> &'static MariaDb {
    MARIADB.get_or_init(MariaDb::start)
}

/// This suite's PostgreSQL.
pub fn postgres() -> &'static Postgres {
    POSTGRES.get_or_init(Postgres::start)
}

/// This suite's Redis.
pub fn redis() -> &'static Redis {
    REDIS.get_or_init(Redis::start)
}

/// The environment in which a script finds its support files and its servers.
pub fn environment(kind: &str) -> Vec<(&'static str, String)> {
    let mut environment = vec![("POOLS", root().display().to_string())];
    if ["shared", "clients", "databases"].contains(&kind) {
        environment.push(("MARIADB_PORT", mariadb().port.to_string()));
    }
    if kind == "databases" {
        environment.push(("POSTGRES_PORT", postgres().port.to_string()));
    }
    if kind == "clients" {
        environment.push(("REDIS_PORT", redis().port.to_string()));
    }
    environment
}

/// The directory of this suite.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pools")
}
