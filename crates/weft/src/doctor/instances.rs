//! Which loaded extensions are proven to work in PHP instances (`--instances`), which are unknown, and which are unfit.
//!
//! An extension is proven if a test of this repository uses it in interleaved instances. The table names the test, and
//! `tests/docs/instances.rs` fails if a row names a test that does not exist or does not use the extension. Must not
//! know the form of a report.

use weft_zend::Engine;

/// The page in which many interleaved instances use an extension, entry by entry.
const PAGE: &str = "crates/zend/tests/instances/pages/extensions.php";

/// Extensions and their proofs: [`PAGE`] by default, or scripts that run against real servers.
pub const PROVEN: &[(&str, &str)] = &[
    ("amqp", "tests/clients/scripts/rabbitmq"),
    ("apcu", PAGE),
    ("bcmath", PAGE),
    ("calendar", PAGE),
    ("Core", PAGE),
    ("ctype", PAGE),
    ("curl", "tests/clients/scripts/network"),
    ("date", PAGE),
    ("dom", PAGE),
    ("exif", PAGE),
    ("FFI", PAGE),
    ("fileinfo", PAGE),
    ("filter", PAGE),
    ("ftp", "tests/clients/scripts/network"),
    ("gd", PAGE),
    ("gettext", PAGE),
    ("gmp", PAGE),
    ("hash", PAGE),
    ("iconv", PAGE),
    ("igbinary", PAGE),
    ("intl", PAGE),
    ("json", PAGE),
    ("ldap", "tests/clients/scripts/openldap"),
    ("lexbor", PAGE),
    ("libxml", PAGE),
    ("mbstring", PAGE),
    ("memcached", "tests/clients/scripts/memcached"),
    ("mongodb", "tests/clients/scripts/mongodb"),
    ("msgpack", PAGE),
    ("mysqli", "tests/clients/scripts/mariadb"),
    ("mysqlnd", "tests/clients/scripts/mariadb"),
    ("odbc", "tests/clients/scripts/odbc"),
    ("openssl", PAGE),
    ("pcntl", PAGE),
    ("pcre", PAGE),
    ("PDO", PAGE),
    ("pdo_mysql", "tests/clients/scripts/mariadb"),
    ("PDO_ODBC", "tests/clients/scripts/odbc"),
    ("pdo_pgsql", "tests/clients/scripts/postgres"),
    ("pdo_sqlite", PAGE),
    ("pgsql", "tests/clients/scripts/postgres"),
    ("Phar", PAGE),
    ("posix", PAGE),
    ("random", PAGE),
    ("readline", PAGE),
    ("redis", "tests/clients/scripts/redis"),
    ("Reflection", PAGE),
    ("session", PAGE),
    ("shmop", PAGE),
    ("SimpleXML", PAGE),
    ("snmp", "tests/clients/scripts/snmpd"),
    ("soap", "tests/clients/scripts/soap"),
    ("sockets", PAGE),
    ("sodium", PAGE),
    ("SPL", PAGE),
    ("sqlite3", PAGE),
    ("standard", PAGE),
    ("sysvmsg", PAGE),
    ("sysvsem", PAGE),
    ("sysvshm", PAGE),
    ("tokenizer", PAGE),
    ("uri", PAGE),
    ("uuid", PAGE),
    ("xml", PAGE),
    ("xmlreader", PAGE),
    ("xmlwriter", PAGE),
    ("xsl", PAGE),
    ("Zend OPcache", PAGE),
    ("zlib", PAGE),
];

/// State outside of PHP's own memory, which all instances of a worker share although the extension is proven.
const SHARED: &[(&str, &str)] = &[
    ("apcu", "the cache is the whole server's, as under php-fpm"),
    ("FFI", "the variables of the libraries it loads are the worker's"),
    ("gettext", "textdomain() and bindtextdomain() are the worker's"),
    ("intl", "the default locale of ICU itself is the worker's"),
    ("openssl", "openssl_error_string() may return another request's error"),
    ("pcntl", "pcntl_signal() and pcntl_alarm() are the worker's"),
    ("readline", "the history is the worker's"),
    ("snmp", "the MIBs that were read are the worker's"),
    ("standard", "openlog() is the worker's"),
    (
        "uuid",
        "the last time and the node that libuuid puts into a number are the worker's, so that none comes twice",
    ),
];

/// Whether an extension may be in instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fitness {
    /// A test runs it in interleaved instances.
    Proven,
    /// No test of this repository tries it.
    Unknown,
    /// It cannot: a worker with it runs one request at a time.
    Unfit,
}

impl Fitness {
    /// Its name, for people and programs.
    pub fn name(&self) -> &'static str {
        match self {
            Fitness::Proven => "proven",
            Fitness::Unknown => "unknown",
            Fitness::Unfit => "unfit",
        }
    }
}

/// The findings about one loaded extension.
#[derive(Debug)]
pub struct Judged {
    /// Its name in PHP.
    pub extension: String,
    /// Whether it may be in instances.
    pub fitness: Fitness,
    /// The reason: the test, what is unknown, or what is wrong.
    pub why: String,
    /// For proven extensions: the state that all instances share.
    pub shared: Option<&'static str>,
}

/// Judges one loaded extension. `starts_threads` says whether its own file may start threads.
pub fn judge(engine: &Engine, extension: &str, starts_threads: bool) -> Judged {
    let judged = |fitness, why: String| Judged {
        extension: extension.to_owned(),
        shared: row(SHARED, extension).filter(|_| fitness == Fitness::Proven),
        fitness,
        why,
    };
    if let Some(why) = engine.unfit_for_instances(extension) {
        return judged(Fitness::Unfit, why);
    }
    if let Some(test) = row(PROVEN, extension) {
        return judged(Fitness::Proven, test.to_owned());
    }
    if extension == "weft" {
        return judged(Fitness::Proven, "it is weft itself".to_owned());
    }
    let threads = if starts_threads {
        "; it can start threads, and their writes to PHP's memory would go to whichever instance is active"
    } else {
        ""
    };
    judged(Fitness::Unknown, format!("none of weft's tests uses it{threads}"))
}

fn row(table: &'static [(&str, &'static str)], extension: &str) -> Option<&'static str> {
    table.iter().find(|(name, _)| *name == extension).map(|(_, text)| *text)
}
