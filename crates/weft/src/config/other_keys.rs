//! The rows of `[recycle]`, `[log]`, `[trust]`, `[php]` and `[dev]` in the table of every setting: see [`super::keys`].
//!
//! Must not know: where a value came from. Invariant: these sections have no row elsewhere.

use super::key::{AGE_S, Arity, DAY_MS, GIB, KIB, Key, key, number};
use super::value::Unit;
use super::{Config, Value};

/// The rows of `[recycle]`, `[log]`, `[trust]`, `[php]` and `[dev]`.
pub const OTHERS: &[Key] = &[
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
        php.accept_shared_state,
        "accept-shared-state",
        Many,
        "EXTENSION",
        "names of PHP extensions",
        "none",
        |v| v.each(Value::text)?,
        "Extension that coroutine mode takes although weft cannot give each request its own state of it; may be repeated"
    ),
    key!(
        php.relax,
        "relax",
        One,
        "YES",
        "true, false",
        "true",
        |v| v.boolean()?,
        "Make the calls of PHP's library and extensions direct when the server starts, on amd64: PHP code runs faster"
    ),
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
        "Time slice after which a computing coroutine lets others run, in coroutine mode; the JIT then keeps nothing in registers; 0 is off"
    ),
    number!(
        dev.watchdog_ms,
        "watchdog-ms",
        Milliseconds,
        0..=DAY_MS,
        "Log a coroutine that holds the loop longer than this, with function, file and line; 0 is off"
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
    number!(
        dev.yield_at_instructions,
        "yield-at-instructions",
        Count,
        0..=1_000_000,
        "Only for tests, on x86-64, in document roots and resident mode: let others run after at most so many machine instructions of PHP code; a thousand times slower; 0 is off"
    ),
];
