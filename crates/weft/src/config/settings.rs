//! The settings as types, one struct for each section of `weft.toml`, with their defaults.
//!
//! Must not know where a value comes from, or how it is written. Invariant: the default of a setting stands here only;
//! help and the reference read it from here.

use std::path::PathBuf;
use std::time::Duration;

use super::{Acme, Action, ListenAddress, Network, Rule, Share, Tls};
use crate::machine;

/// Everything that can be configured, in the sections of `weft.toml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// Sockets, processes, privileges.
    pub server: Server,
    /// Certificates, and what follows from having them.
    pub tls: Tls,
    /// Certificates that weft sees to itself.
    pub acme: Acme,
    /// What a peer, a request or a coroutine may use at most.
    pub limits: LimitSettings,
    /// What is published to topics.
    pub topics: super::Topics,
    /// The meaning of a document root's URLs.
    pub classic: Classic,
    /// What becomes of some paths of a document root, in this order.
    pub rules: Vec<Rule>,
    /// Document roots with host names of their own, in place of one application.
    pub sites: Vec<Site>,
    /// A script that stays loaded beside a document root.
    pub resident: Resident,
    /// When a worker is replaced by a fresh one.
    pub recycle: Recycle,
    /// Destination and form of the logs.
    pub log: Log,
    /// Who may see what weft says of itself.
    pub admin: Admin,
    /// What is recorded of requests for a collector of traces.
    pub trace: super::Trace,
    /// Which peers are trusted to report the client's address.
    pub trust: Trust,
    /// PHP's own settings.
    pub php: Php,
    /// Settings for development.
    pub dev: Dev,
    /// The file that was read, if any.
    pub file: Option<PathBuf>,
}

impl Config {
    /// The longest body that any path may get, in bytes.
    pub fn body_bytes_max(&self) -> u64 {
        let of_rules = self.rules.iter().filter_map(|rule| match rule.action {
            Action::BodyBytesMax(bytes) => Some(bytes),
            _ => None,
        });
        let of_sites = self.sites.iter().map(|site| site.config.body_bytes_max());
        of_rules.chain(of_sites).fold(self.limits.body_bytes_max, u64::max)
    }

    /// The addresses whose connections workers serve, in the order in which these number them.
    pub fn services(&self) -> impl Iterator<Item = &ListenAddress> {
        self.server.listen.iter().filter(|address| address.udp().is_none())
    }

    /// Whether an address wants TLS.
    pub fn wants_tls(&self) -> bool {
        self.server.listen.iter().any(ListenAddress::is_tls)
    }
}

/// A `[[site]]`: a whole configuration, as if it were alone: the file's own settings, and over them what the site says.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Its file and line.
    pub place: String,
    /// Its host names in small letters; one that begins with `*.` is for all below a domain.
    pub names: Vec<String>,
    /// Whether it gets the requests for hosts that no site has.
    pub is_default: bool,
    /// Files with a certificate and its chain each.
    pub certificates: Vec<PathBuf>,
    /// Their keys, in the same order.
    pub keys: Vec<PathBuf>,
    /// PHP settings of its requests, which scripts may change.
    pub ini: Vec<(String, String)>,
    /// PHP settings of its requests, which nothing changes.
    pub admin_ini: Vec<(String, String)>,
    /// Environment variables of its requests.
    pub environment: Vec<(String, String)>,
    /// Everything else, as if the site were alone. Its shares are only those that the site itself says.
    pub config: Config,
}

/// `[server]`: sockets, processes, privileges.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// The application: a PHP script or a document root. `None` only for commands that do not need one.
    pub application: Option<PathBuf>,
    /// The mode in which it runs.
    pub run_as: RunAs,
    /// A directory whose files are sent before a script is asked.
    pub files: Option<PathBuf>,
    /// Addresses to listen on.
    pub listen: Vec<ListenAddress>,
    /// The host names that stand among them.
    pub names: Vec<String>,
    /// Whether one of these names stands for port 80 as well, for those who come without TLS.
    pub redirects: bool,
    /// Those of the addresses at which connections begin with a header of the PROXY protocol.
    pub proxy_protocol: Vec<ListenAddress>,
    /// Worker processes.
    pub workers: Workers,
    /// Whether text that PHP answers with is compressed.
    pub compress_responses: bool,
    pub compress_websockets: bool,
    /// Whether clients may speak HTTP/2.
    pub http2: bool,
    /// Length of each accept queue.
    pub backlog: u32,
    /// User the workers run as.
    pub user: Option<String>,
    /// Group the workers run as; the user's own group when absent.
    pub group: Option<String>,
    /// The master's pid file; `weft reload` and `weft stop` find the master through it.
    pub pid_file: Option<PathBuf>,
    /// Whether to go into the background.
    pub daemon: bool,
    /// How long running requests may take when a worker stops.
    pub drain_timeout_ms: u64,
    /// How long connections that live long stay with a worker that a reload replaces, before they are told to leave.
    pub reload_keep_ms: u64,
    /// How long a worker may take to load the application.
    pub boot_timeout_ms: u64,
    /// Milliseconds that a worker may be silent before it is killed and replaced; 0 is off.
    pub stuck_timeout_ms: u64,
    /// Workers that the master may add while all are held.
    pub extra_workers_max: ExtraWorkers,
}

/// The number of workers beyond the configured ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraWorkers {
    /// What [`super::Mode::extra_workers`] says.
    Auto,
    /// At most this many.
    AtMost(usize),
}

/// `[admin]`: who may see what weft says of itself.
#[derive(Clone, Default, PartialEq)]
pub struct Admin {
    /// What a client has to say, if anything.
    pub token: Option<String>,
    /// Paths whose requests are counted together.
    pub routes: Vec<super::RoutePattern>,
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        f.debug_struct("Admin").field("token", &token).field("routes", &self.routes).finish()
    }
}

/// The mode in which an application runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunAs {
    /// A directory in classic mode, a worker script in resident mode, any other script in coroutine mode.
    #[default]
    Auto,
    /// A document root.
    Classic,
    /// A script that stays loaded, one request at a time in each PHP.
    Resident,
    /// A script that returns a handler.
    Coroutine,
}

/// `[classic]`: the meaning of a document root's URLs.
#[derive(Debug, Clone, PartialEq)]
pub struct Classic {
    /// What is tried for a path, in this order: `$path`, a file in the directory that it names, or one fixed
    /// file.
    pub rules: Vec<String>,
    /// Which symbolic links are followed.
    pub symlinks: Symlinks,
    /// Directories whose files a script may send with X-Sendfile.
    pub sendfile: Vec<PathBuf>,
    /// Whether a script may answer with another URL through X-Accel-Redirect.
    pub accel_redirect: bool,
    /// Whether what `.htaccess` files deny is refused.
    pub htaccess: bool,
    /// What `PHP_SAPI` says.
    pub sapi_name: String,
    /// Whether scripts have `pcntl_*` and `chroot()`, which php-fpm does not have.
    pub process_functions: bool,
    /// PHP instances per worker: how many requests can have PHP to themselves at once; 0 leaves it to the mode.
    pub instances_max: u32,
    /// While a worker's resident memory is above this, no instance is added; 0 leaves it to the machine.
    pub instances_memory_bytes_max: u64,
    /// An instance that has been idle for this long returns its memory.
    pub instances_idle_ms: u64,
    /// How long PHP code of a request computes before others run; 0 is off.
    pub slice_ms: Duration,
    /// Text files of at least this size are compressed for clients that accept it; 0 compresses none.
    pub compress_bytes_min: u64,
}

/// `[resident]`: a worker script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resident {
    /// The script that handles the requests that no file of the document root answers; `None` is classic mode.
    pub script: Option<PathBuf>,
    /// Requests after which it is loaded again; 0 is never.
    pub requests_max: u64,
}

/// Which symbolic links in a document root are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symlinks {
    /// All of them.
    Follow,
    /// Those to files below the document root.
    Inside,
}

impl Default for Classic {
    fn default() -> Self {
        let rules = ["$path", "$path/index.php", "$path/index.html", "index.php"];
        Classic {
            rules: rules.map(str::to_owned).to_vec(),
            symlinks: Symlinks::Follow,
            sendfile: Vec::new(),
            accel_redirect: false,
            htaccess: true,
            sapi_name: "weft".to_owned(),
            process_functions: false,
            instances_max: 0,
            instances_memory_bytes_max: 0,
            instances_idle_ms: 2_000,
            slice_ms: Duration::from_millis(8),
            compress_bytes_min: 1 << 10,
        }
    }
}

/// How many worker processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// One per core this process may use, cgroup quota included, as far as the cgroup has memory for them.
    Auto,
    /// Exactly this many.
    Exactly(usize),
}

impl Workers {
    /// The number of workers on this machine, at least one.
    pub fn count(self) -> usize {
        match self {
            Workers::Auto => machine::fitting(machine::cores()),
            Workers::Exactly(n) => n,
        }
    }
}

/// `[limits]`: each limit has a name and a default; 0 means off only where the help says so.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each field is described once, by its row in keys.rs")]
pub struct LimitSettings {
    pub head_bytes_max: usize,
    pub header_count_max: usize,
    pub target_bytes_max: usize,
    pub body_bytes_max: u64,
    pub body_memory_bytes_max: usize,
    pub body_begin_bytes: u64,
    pub body_rate_bytes_min: u64,
    pub response_buffer_bytes_max: usize,
    pub spool_bytes_max: u64,
    pub head_timeout_ms: u64,
    pub body_timeout_ms: u64,
    pub idle_timeout_ms: u64,
    pub write_timeout_ms: u64,
    pub request_timeout_ms: u64,
    pub request_slow_ms: u64,
    pub connections_max: usize,
    pub coroutines_max: usize,
    pub tasks_max: usize,
    pub queue_max: usize,
    pub queue_timeout_ms: u64,
    pub shares: Vec<Share>,
    pub websocket_message_bytes_max: usize,
    pub websocket_queue_bytes_max: usize,
    pub websocket_ping_ms: u64,
    pub websocket_ping_timeout_ms: u64,
    pub tcp_message_bytes_max: usize,
    pub tcp_queue_bytes_max: usize,
    pub tcp_idle_timeout_ms: u64,
    pub stack_bytes: usize,
}

/// `[recycle]`: 0 turns a rule off.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "each field is described once, by its row in keys.rs")]
pub struct Recycle {
    pub requests_max: u64,
    pub memory_growth_bytes_max: u64,
    pub age_s_max: u64,
}

/// `[log]`: error log and access log.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The destination of the error log.
    pub error_log: LogTarget,
    /// The least severe level that is logged.
    pub level: Level,
    /// Form of the error log.
    pub format: Format,
    /// The destination of the access log.
    pub access_log: LogTarget,
    /// Form of the access log.
    pub access_log_format: Format,
    /// Bytes that a log may hold in memory while its file is slow; beyond that, lines are dropped and counted.
    pub queue_bytes_max: usize,
}

/// A destination of log lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogTarget {
    /// Nowhere.
    Off,
    /// The process's own stream: stderr for the error log, stdout for the access log.
    Stream,
    /// A file, appended to, reopened on SIGUSR1.
    File(PathBuf),
}

/// Form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Severity of the error log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// `[trust]`: peers whose Forwarded and X-Forwarded-* headers are trusted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trust {
    /// Networks of the proxies in front.
    pub proxies: Vec<Network>,
    /// The fields in which they report their clients. The other kind of fields may come from the client.
    pub fields: weft_serve::ProxyFields,
    /// Whether the host that they report is trusted.
    pub host: bool,
}

/// `[php]`: ini settings that override php.ini, applied in this order, and how PHP is loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Php {
    /// `name`, `value`; a later entry of the same name wins.
    pub ini: Vec<(String, String)>,
    /// Extensions that coroutine mode takes although it cannot isolate them.
    pub accept_shared_state: Vec<String>,
    /// Whether the calls within PHP's library become direct.
    pub relax: bool,
}

impl Default for Php {
    fn default() -> Php {
        Php { ini: Vec::new(), accept_shared_state: Vec::new(), relax: true }
    }
}

/// `[dev]`: settings for development.
#[derive(Debug, Clone, PartialEq)]
pub struct Dev {
    /// Whether error pages show the stack.
    pub mode: Environment,
    /// Paths whose changes trigger a reload; none turns it off.
    pub watch: Vec<PathBuf>,
    /// Time slice after which a coroutine that computes must yield; 0 is off.
    pub preempt_ms: u64,
    /// A coroutine that blocks the loop for longer is logged with function, file and line; 0 is off.
    pub watchdog_ms: u64,
    /// Whether whole pages are compared at each switch of PHP instances.
    pub verify_instances: bool,
    /// Whether hooked calls let the other coroutines run first, every other time.
    pub yield_at_calls: bool,
    /// The most machine instructions of PHP code in a time slice; 0 is off.
    pub yield_at_instructions: u32,
}

/// Who sees the details of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// Plain error pages; details only in the log.
    Production,
    /// Error pages with the stack.
    Development,
}

impl Default for Server {
    fn default() -> Self {
        Server {
            application: None,
            run_as: RunAs::Auto,
            files: None,
            listen: vec![ListenAddress::Tcp(([127, 0, 0, 1], 8080).into())],
            names: Vec::new(),
            redirects: false,
            proxy_protocol: Vec::new(),
            workers: Workers::Auto,
            compress_responses: false,
            compress_websockets: false,
            http2: true,
            backlog: 4096,
            user: None,
            group: None,
            pid_file: None,
            daemon: false,
            drain_timeout_ms: 30_000,
            reload_keep_ms: 0,
            boot_timeout_ms: 60_000,
            stuck_timeout_ms: 120_000,
            extra_workers_max: ExtraWorkers::Auto,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Log {
            error_log: LogTarget::Stream,
            level: Level::Info,
            format: Format::Text,
            access_log: LogTarget::Off,
            access_log_format: Format::Text,
            queue_bytes_max: 1 << 20,
        }
    }
}

impl Default for Dev {
    fn default() -> Self {
        Dev {
            mode: Environment::Production,
            watch: Vec::new(),
            preempt_ms: 0,
            watchdog_ms: 1_000,
            verify_instances: false,
            yield_at_calls: false,
            yield_at_instructions: 0,
        }
    }
}
