//! The accepted circles, each with its reason. ARCHITECTURE.md has the same rows.
//!
//! It must not grow: a new circle is untied, unless its reason is better than these.

/// Files each of which leads to every other one.
pub struct Circle {
    pub files: &'static [&'static str],
    /// Why it is one, in the words of ARCHITECTURE.md.
    pub reason: &'static str,
}

/// All of them.
pub const ACCEPTED: &[Circle] = &[
    Circle {
        files: &[
            "crates/serve/src/accept.rs",
            "crates/serve/src/connection.rs",
            "crates/serve/src/evict.rs",
            "crates/serve/src/exchange.rs",
            "crates/serve/src/handler.rs",
            "crates/serve/src/outgoing.rs",
            "crates/serve/src/request.rs",
            "crates/serve/src/server.rs",
            "crates/serve/src/spool.rs",
            "crates/serve/src/store.rs",
            "crates/serve/src/table.rs",
            "crates/serve/src/unread.rs",
        ],
        reason: "Not untied yet: the server and the parts of its life know each other.",
    },
    Circle {
        files: &["crates/serve/src/file.rs", "crates/serve/src/root.rs"],
        reason: "A root opens what a file sends.",
    },
    Circle {
        files: &[
            "crates/weft/src/classic/mod.rs",
            "crates/weft/src/classic/route.rs",
            "crates/weft/src/master/mod.rs",
            "crates/weft/src/master/reload.rs",
            "crates/weft/src/master/silence.rs",
            "crates/weft/src/master/supervise.rs",
            "crates/weft/src/php/forked.rs",
            "crates/weft/src/php/server_host.rs",
            "crates/weft/src/php/instances.rs",
            "crates/weft/src/php/mod.rs",
            "crates/weft/src/php/script.rs",
            "crates/weft/src/php/serve.rs",
        ],
        reason: "Not untied yet: the mode is a word of the master that PHP needs.",
    },
    Circle {
        files: &[
            "crates/weft/src/config/environment.rs",
            "crates/weft/src/config/file.rs",
            "crates/weft/src/config/key.rs",
            "crates/weft/src/config/keys.rs",
            "crates/weft/src/config/limit_keys.rs",
            "crates/weft/src/config/mod.rs",
            "crates/weft/src/config/value.rs",
        ],
        reason: "Not untied yet: the keys name the configuration they fill.",
    },
    Circle {
        files: &[
            "crates/weft/src/cli.rs",
            "crates/weft/src/doctor/mod.rs",
            "crates/weft/src/doctor/objects.rs",
            "crates/weft/src/doctor/report.rs",
        ],
        reason: "The command line has a command for the doctor, which has settings of the command line.",
    },
    Circle {
        files: &["crates/weft/src/master/listen.rs", "crates/weft/src/master/unix.rs"],
        reason: "Unix sockets are one of two kinds of listeners, in a file of their own.",
    },
];
