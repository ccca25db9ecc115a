//! The rows of `[server]` in the table of every setting: see [`super::keys`].
//!
//! Must not know: where a value came from. Invariant: what the master needs before there is a worker has its row here.

use super::key::{Arity, DAY_MS, Key, key, number};
use super::value::Unit;
use super::{Config, Places, Value};

/// The rows of `[server]`.
pub const SERVER: &[Key] = &[
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
    key!(
        server.files,
        "files",
        One,
        "DIRECTORY",
        "a directory",
        "none",
        |v| Some(v.path()?),
        "A directory whose files are sent, as those of a document root, before the application, a script, is asked"
    ),
    Key {
        set: |config, given| {
            let places = Places::of(&given.each(Value::place)?);
            (config.server.listen, config.server.names) = (places.addresses, places.names);
            config.server.redirects = places.redirects;
            Ok(())
        },
        ..key!(server.listen, "listen" 'l', Many, "ADDRESS", "HOST:PORT, :PORT, [V6]:PORT, https://HOST:PORT, https://NAME, tcp://HOST:PORT/service, tls://HOST:PORT/service, udp://HOST:PORT/service, admin://HOST:PORT, unix:/path, unix:/path,mode=0660, admin+unix:/path", "127.0.0.1:8080",
        |v| v.each(Value::place).map(|_| Vec::new())?, "Address to listen on; may be repeated; port 0 lets the kernel choose; https://NAME is ports 443 and 80, with a certificate that weft sees to itself")
    },
    key!(
        server.proxy_protocol,
        "proxy-protocol",
        Many,
        "ADDRESS",
        "addresses of server.listen",
        "none",
        |v| Places::of(&v.each(Value::place)?).addresses,
        "Address at which each connection begins with a header of the PROXY protocol, version 1 or 2, from one of trust.proxies; may be repeated"
    ),
    key!(server.workers, "workers" 'w', One, "N", "auto, 1 to 1024", "auto",
        |v| v.workers()?, "Worker processes; auto is one per core that this process may use or, with one PHP instance each, four per core and at least eight; a control group with a memory limit has at most one per 64 MiB of it"),
    key!(
        server.http2,
        "http2",
        One,
        "YES",
        "true, false",
        "true",
        |v| v.boolean()?,
        "Whether clients may speak HTTP/2: over TLS those that ask for it, else those that begin with it"
    ),
    key!(
        server.compress_responses,
        "compress-responses",
        Switch,
        "",
        "true, false",
        "false",
        |v| v.boolean()?,
        "Compresses text that applications and scripts answer with, for clients that accept it; streamed text piece by piece"
    ),
    key!(
        server.compress_websockets,
        "compress-websockets",
        Switch,
        "",
        "true, false",
        "false",
        |v| v.boolean()?,
        "Compresses messages to and from WebSocket clients that offer it (permessage-deflate), each by itself"
    ),
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
        server.reload_keep_ms,
        "reload-keep-ms",
        Milliseconds,
        0..=DAY_MS,
        "Time for which WebSockets, TCP connections and streams of events stay with a worker that a reload replaces; then they have \
         drain_timeout_ms to leave, as they have at once with 0"
    ),
    number!(
        server.boot_timeout_ms,
        "boot-timeout-ms",
        Milliseconds,
        100..=DAY_MS,
        "Time that a worker has to load the application"
    ),
    key!(
        server.extra_workers_max,
        "extra-workers-max",
        One,
        "N",
        "auto, 0 to 1024",
        "auto",
        |v| v.extra_workers()?,
        "Further workers while each one is held by a computation that cannot be interrupted; auto is 32 per core, but no more than half of memory has room for at 64 MiB each, and none for a script that stays loaded in one worker by choice; 0 is off"
    ),
    number!(
        server.stuck_timeout_ms,
        "stuck-timeout-ms",
        Milliseconds,
        0..=DAY_MS,
        "How long one computation, or one call that is not cooperative, may hold a whole worker before the worker is killed and replaced; 0 is off"
    ),
];
