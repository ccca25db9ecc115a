//! The table of every setting: one row, one key.
//!
//! Must not know where a value came from. Invariant: flag, variable, file key, help and reference documentation of a
//! setting are all generated from its row, so they cannot disagree.

use super::key::{AGE_S, DAY_MS, GIB, KIB, MIB};
pub use super::key::{Arity, Key, by_flag};
use super::limit_keys::LIMITS;
use super::value::Unit;
use super::{Config, Value};

/// Every setting, in the order of the documentation.
pub static KEYS: &[Key] = &joined();

const fn joined() -> [Key; SERVER.len() + LIMITS.len() + OTHERS.len()] {
    let mut rows = [SERVER[0]; SERVER.len() + LIMITS.len() + OTHERS.len()];
    let (mut table, mut at) = (0, 0);
    while table < 3 {
        let from = [SERVER, LIMITS, OTHERS][table];
        let mut row = 0;
        while row < from.len() {
            rows[at] = from[row];
            (row, at) = (row + 1, at + 1);
        }
        table += 1;
    }
    rows
}

const SERVER: &[Key] = &[
    Key {
        positional: true,
        ..key!(
            server.application,
            "application",
            One,
            "APPLICATION",
            "a file or directory",
            "none",
            |v| Some(v.path()?),
            "The PHP script that returns the application, or a document root"
        )
    },
    Key {
        name: "mode",
        ..key!(
            server.run_as,
            "run-as",
            One,
            "MODE",
            "auto, classic, resident, coroutine",
            "auto",
            |v| v.run_as()?,
            "How the application runs: auto is classic for a document root, resident for a worker script or with --instances, coroutine for any other script"
        )
    },
    key!(server.listen, "listen" 'l', Many, "ADDRESS", "HOST:PORT, :PORT, [V6]:PORT, unix:/path, unix:/path,mode=0660", "127.0.0.1:8080",
        |v| v.each(Value::listen)?, "Address to listen on; may be repeated; port 0 lets the kernel choose"),
    key!(server.workers, "workers" 'w', One, "N", "auto, 1 to 1024", "auto",
        |v| v.workers()?, "Worker processes; auto is one per core that this process may use or, with one PHP instance each, four per core and at least eight; a control group with a memory limit has at most one per 64 MiB of it"),
    number!(
        server.backlog,
        "backlog",
        Count,
        1..=1_048_576,
        "Length of each accept queue (the kernel caps it at net.core.somaxconn)"
    ),
    key!(
        server.user,
        "user",
        One,
        "USER",
        "a user of this machine",
        "none",
        |v| Some(v.text()?),
        "User the workers run as; the master keeps its own privileges"
    ),
    key!(
        server.group,
        "group",
        One,
        "GROUP",
        "a group of this machine",
        "the user's",
        |v| Some(v.text()?),
        "Group the workers run as"
    ),
    key!(
        server.pid_file,
        "pid-file",
        One,
        "PATH",
        "a path",
        "none",
        |v| Some(v.path()?),
        "Where to write the master's pid; weft reload and weft stop find it there"
    ),
    key!(
        server.daemon,
        "daemon",
        Switch,
        "",
        "true, false",
        "false",
        |v| v.boolean()?,
        "Go into the background once ready"
    ),
    number!(
        server.drain_timeout_ms,
        "drain-timeout-ms",
        Milliseconds,
        0..=DAY_MS,
        "Time that running requests have to finish when a worker stops"
    ),
    number!(
        server.boot_timeout_ms,
        "boot-timeout-ms",
        Milliseconds,
        100..=DAY_MS,
        "Time that a worker has to load the application"
    ),
    number!(
        server.stuck_timeout_ms,
        "stuck-timeout-ms",
        Milliseconds,
        0..=DAY_MS,
        "How long one computation, or one call that is not cooperative, may hold a whole worker before the worker is killed and replaced; 0 is off"
    ),
];

const OTHERS: &[Key] = &[
    Key {
        name: "try",
        ..key!(
            classic.rules,
            "try",
            Many,
            "RULE",
            "$path, $path/NAME, NAME",
            "$path $path/index.php $path/index.html index.php",
            |v| v.each(Value::rule)?,
            "How a URL finds its file in a document root: the first rule that gives a file; may be repeated"
        )
    },
    key!(
        classic.symlinks,
        "symlinks",
        One,
        "WHICH",
        "follow, inside",
        "follow",
        |v| v.symlinks()?,
        "Symbolic links that are followed in a document root: all, or those that stay inside it"
    ),
    key!(
        classic.sendfile,
        "sendfile",
        Many,
        "DIRECTORY",
        "directories outside the document root, or below it",
        "none",
        |v| v.each(Value::path)?,
        "A directory whose files a script may send by X-Sendfile; may be repeated; without any, the header is like any other"
    ),
    key!(
        classic.accel_redirect,
        "accel-redirect",
        Switch,
        "",
        "true, false",
        "false",
        |v| v.boolean()?,
        "Lets a script answer with another URL of the document root by X-Accel-Redirect; otherwise the header is like any other"
    ),
    number!(
        classic.instances_max,
        "instances",
        Count,
        0..=4096,
        "PHP instances per worker, each with one request at a time; 1 runs one request at a time in each worker; 0 is 50 for a document root, 1 for a script that stays loaded"
    ),
    number!(
        classic.instances_memory_bytes_max,
        "instances-memory-bytes-max",
        Bytes,
        0..=1024 * GIB,
        "Resident memory of a worker above which idle instances give memory back and requests wait; each request in flight counts with the largest need of recent requests; 0 is half of the machine's memory, divided by the workers"
    ),
    number!(
        classic.instances_idle_ms,
        "instances-idle-ms",
        Milliseconds,
        1..=DAY_MS,
        "Time after which an idle instance gives its memory back"
    ),
    number!(
        classic.compress_bytes_min,
        "compress-bytes-min",
        Bytes,
        0..=MIB,
        "Text files from this size up to 1 MiB are compressed for clients that accept it; 0 compresses none"
    ),
    key!(
        resident.script,
        "worker",
        One,
        "SCRIPT",
        "a path",
        "none",
        |v| Some(v.path()?),
        "A worker script for a document root, as in FrankenPHP: it stays loaded and answers the requests that no file answers"
    ),
    number!(
        resident.requests_max,
        "worker-requests-max",
        Count,
        0..=1_000_000_000,
        "Requests after which a worker script is loaded again; 0 is never"
    ),
    number!(
        recycle.requests_max,
        "recycle-requests-max",
        Count,
        0..=u64::MAX >> 1,
        "Replace a worker after this many requests; 0 is off"
    ),
    number!(
        recycle.memory_growth_bytes_max,
        "recycle-memory-growth-bytes-max",
        Bytes,
        0..=1024 * GIB,
        "Replace a worker whose memory has grown by this much since it was ready; 0 is off"
    ),
    number!(
        recycle.age_s_max,
        "recycle-age-s-max",
        Seconds,
        0..=AGE_S,
        "Replace a worker of this age; 0 is off"
    ),
    key!(
        log.error_log,
        "error-log",
        One,
        "TARGET",
        "off, - (stderr), a path",
        "-",
        |v| v.log_target()?,
        "Where errors and the server's own messages go"
    ),
    key!(
        log.level,
        "log-level",
        One,
        "LEVEL",
        "error, warn, info, debug, trace",
        "info",
        |v| v.level()?,
        "The least severe message that is logged"
    ),
    key!(
        log.format,
        "log-format",
        One,
        "FORM",
        "text, json",
        "text",
        |v| v.format()?,
        "Format of the error log"
    ),
    key!(
        log.access_log,
        "access-log",
        One,
        "TARGET",
        "off, - (stdout), a path",
        "off",
        |v| v.log_target()?,
        "Where one line per request goes"
    ),
    key!(
        log.access_log_format,
        "access-log-format",
        One,
        "FORM",
        "text, json",
        "text",
        |v| v.format()?,
        "Format of the access log: combined-like text, or JSON"
    ),
    number!(
        log.queue_bytes_max,
        "log-queue-bytes-max",
        Bytes,
        4 * KIB..=GIB,
        "Memory of each log for lines while its file is slow; beyond it lines are dropped and counted"
    ),
    key!(
        trust.proxies,
        "trust-proxies",
        Many,
        "NETWORK",
        "networks in CIDR form",
        "none",
        |v| v.each(Value::network)?,
        "Proxies that are believed about their clients; may be repeated"
    ),
    key!(
        trust.fields,
        "trust-fields",
        One,
        "KIND",
        "x-forwarded, forwarded",
        "x-forwarded",
        |v| v.proxy_fields()?,
        "The headers that name the client: X-Forwarded-For and -Proto, or Forwarded (RFC 7239); the other kind is ignored"
    ),
    key!(
        trust.host,
        "trust-host",
        Switch,
        "",
        "true, false",
        "false",
        |v| v.boolean()?,
        "Use the host that the proxies report (X-Forwarded-Host, or Forwarded's host) as the requested host"
    ),
    Key {
        set: |config, given| {
            config.php.ini.extend(given.ini()?);
            Ok(())
        },
        ..key!(php.ini, "define" 'd', Many, "NAME=VALUE", "PHP ini settings; a table [php.ini] in the file", "none",
            |v| v.ini()?, "PHP ini setting that overrides php.ini; may be repeated")
    },
    key!(
        dev.mode,
        "mode",
        One,
        "MODE",
        "production, development",
        "production",
        |v| v.environment()?,
        "Whether error pages show details (development) or only the log does"
    ),
    key!(
        dev.watch,
        "watch",
        Many,
        "PATH",
        "paths; true for the application's directory",
        "off",
        |v| v.watch()?,
        "Reload when files below these paths change; without a path, the application's directory"
    ),
    number!(
        dev.preempt_ms,
        "preempt-ms",
        Milliseconds,
        0..=60_000,
        "Time slice after which a computing coroutine lets others run; 0 is off"
    ),
    number!(
        dev.watchdog_ms,
        "watchdog-ms",
        Milliseconds,
        0..=DAY_MS,
        "Log a coroutine that holds the loop longer than this, with file and line; 0 is off"
    ),
    key!(
        dev.verify_instances,
        "verify-instances",
        Switch,
        "",
        "true, false",
        "false",
        |v| v.boolean()?,
        "Compare whole pages at each switch of PHP instances, and look for pointers between them; slow"
    ),
    key!(
        dev.yield_at_calls,
        "yield-at-calls",
        Switch,
        "",
        "true, false",
        "false",
        |v| v.boolean()?,
        "Let others run at every other hooked call, to show what depends on when coroutines switch; slow"
    ),
];
