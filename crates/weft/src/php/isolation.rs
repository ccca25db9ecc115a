//! Which loaded extensions coroutine mode cannot isolate, and what follows from that.
//!
//! In coroutine mode requests share one PHP, and weft exchanges what each has changed. Where it knows that an extension
//! keeps state of a request, but not where, requests would see each other's: coroutine mode does not start, unless the
//! operator accepts it. Must not know layouts (the C side does). Invariant: no extension is left out without a word.

use weft_zend::Engine;

use crate::config::{Config, Mode};

/// The extensions whose globals were reviewed: the rows of docs/internals/isolation.md (`tests/docs/isolation.rs`
/// compares them).
const REVIEWED: [&str; 70] = [
    "Core",
    "standard",
    "random",
    "date",
    "pcre",
    "json",
    "session",
    "SPL",
    "Reflection",
    "hash",
    "weft",
    "libxml",
    "dom",
    "SimpleXML",
    "xml",
    "xmlreader",
    "xmlwriter",
    "xsl",
    "soap",
    "mbstring",
    "iconv",
    "intl",
    "gettext",
    "mysqli",
    "mysqlnd",
    "PDO",
    "pdo_mysql",
    "pdo_pgsql",
    "pdo_sqlite",
    "PDO_ODBC",
    "pgsql",
    "odbc",
    "sqlite3",
    "redis",
    "memcached",
    "mongodb",
    "amqp",
    "ldap",
    "ftp",
    "curl",
    "sockets",
    "openssl",
    "sodium",
    "zlib",
    "filter",
    "posix",
    "pcntl",
    "sysvmsg",
    "sysvsem",
    "sysvshm",
    "shmop",
    "readline",
    "gd",
    "exif",
    "fileinfo",
    "calendar",
    "ctype",
    "tokenizer",
    "lexbor",
    "uri",
    "Phar",
    "FFI",
    "igbinary",
    "msgpack",
    "apcu",
    "Zend OPcache",
    "uuid",
    "bcmath",
    "gmp",
    "snmp",
];

/// What weft cannot isolate of the loaded extensions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unisolated {
    /// They keep state of requests, in a form that this weft does not know.
    pub unknown_layouts: Vec<String>,
    /// Nobody has looked at what they keep.
    pub unreviewed: Vec<String>,
}

impl Unisolated {
    /// Looks at the extensions of the started engine. The mode decides whether it matters: instances exchange all
    /// globals, so in classic mode there is nothing.
    pub fn of(engine: &Engine, config: &Config) -> Unisolated {
        if Mode::of(config).is_one_at_a_time() {
            return Unisolated::default();
        }
        let is_unreviewed = |name: &String| !REVIEWED.contains(&name.as_str());
        Unisolated {
            unknown_layouts: engine.unknown_layouts(),
            unreviewed: engine.extensions().into_iter().filter(is_unreviewed).collect(),
        }
    }

    /// # Errors
    /// One line for the operator, if there is an extension that he has not accepted.
    pub fn refuse(&self, config: &Config) -> Result<(), String> {
        let accepted = |name: &String| {
            config.php.accept_shared_state.iter().any(|other| other.eq_ignore_ascii_case(name))
        };
        let refused: Vec<&str> =
            self.unknown_layouts.iter().filter(|name| !accepted(name)).map(String::as_str).collect();
        if refused.is_empty() {
            return Ok(());
        }
        let flags: Vec<String> = refused.iter().map(|name| format!("--accept-shared-state {name}")).collect();
        Err(format!(
            "coroutine mode cannot isolate the extension {}: this build of it keeps its state in a form that weft does not know, so \
             requests would see each other's; leave it out of php.ini, or serve a document root (classic mode), or accept it \
             with {}",
            refused.join(", "),
            flags.join(" ")
        ))
    }

    /// What the log says of the rest.
    pub fn warning(&self) -> Option<String> {
        (!self.unreviewed.is_empty()).then(|| {
            format!(
                "nobody has reviewed for coroutine mode what these extensions keep: {}; if they keep anything of a request, other \
                 requests may see it (docs/internals/isolation.md)",
                self.unreviewed.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_of_unknown_layout_is_refused_until_it_is_accepted() {
        let unisolated =
            Unisolated { unknown_layouts: vec!["soap".into(), "odbc".into()], unreviewed: Vec::new() };
        let mut config = Config::default();
        let why = unisolated.refuse(&config).unwrap_err();
        assert!(why.contains("soap, odbc") && why.contains("--accept-shared-state odbc"), "{why}");
        config.php.accept_shared_state = vec!["SOAP".into()];
        let why = unisolated.refuse(&config).unwrap_err();
        assert!(!why.contains("soap") && why.contains("odbc"), "{why}");
        config.php.accept_shared_state.push("odbc".into());
        assert_eq!(unisolated.refuse(&config), Ok(()));
    }
}
