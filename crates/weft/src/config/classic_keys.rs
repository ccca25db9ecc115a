//! The rows of `[classic]` and `[resident]` in the table of every setting: see [`super::keys`].
//!
//! Must not know: where a value came from. Invariant: what a document root's URLs stand for, and what runs them, has
//! its rows here.

use super::key::{Arity, DAY_MS, GIB, Key, MIB, key, number};
use super::value::Unit;
use super::{Config, Value};

/// The rows of `[classic]` and `[resident]`.
pub const CLASSIC: &[Key] = &[
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
    key!(
        classic.htaccess,
        "htaccess",
        One,
        "YES",
        "true, false",
        "true",
        |v| v.boolean()?,
        "Refuses what .htaccess files in a document root deny (Require all denied, Deny from all); nothing else in them counts"
    ),
    key!(
        classic.sapi_name,
        "sapi-name",
        One,
        "NAME",
        "letters, digits and dashes",
        "weft",
        |v| v.name()?,
        "What PHP_SAPI and php_sapi_name() say in a document root, for applications that ask for fpm-fcgi or cgi"
    ),
    key!(
        classic.process_functions,
        "process-functions",
        Switch,
        "",
        "true, false",
        "false",
        |v| v.boolean()?,
        "Leaves scripts of a document root the functions that php-fpm does not have: pcntl_* and chroot()"
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
    key!(
        classic.slice_ms,
        "slice-ms",
        One,
        "MS",
        "0, 0.05 to 60000",
        "8",
        |v| v.slice()?,
        "How long PHP code of a request computes before others run, in classic and resident mode; 0: until it waits"
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
];
