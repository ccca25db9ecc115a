//! weft, a coroutine application server for PHP: the binary that joins the crates.
//!
//! # Layout, in reading order
//! - [`cli`]: the command line; [`flags`]: its flags for settings. [`config`]: every setting, from flags, variables and `weft.toml`.
//! - [`master`]: owns the listeners, starts PHP, forks workers, replaces, reloads, drains.
//! - [`worker`]: one process, one thread that touches Zend; serves requests. [`php`]: the connection to PHP.
//! - [`guarded_path`]: files that the master opens where others can write. [`log`]: error log and access log.
//!   [`check`]: `weft check`. [`doctor`]: `weft doctor`. [`watch`]: reload on file changes.
//! - [`bus`]: how workers publish to topics; [`publish`]: `weft publish`; [`top`]: `weft top`; [`profile`]: `weft profile`; [`operator`]: how these ask a server. [`board`]: how they say what they do.
//! - [`trace`]: spans of requests for a collector. [`authorities`]: whose certificates weft believes.
//! - [`acme`]: certificates that weft sees to itself. [`tls`]: which certificate a client gets.
//! - [`memory_file`]: memory that a reload hands on. [`machine`]: the cores and the memory there are, control groups included. [`generate`]: completions, man pages and
//!   a sample configuration, for packages.

#![deny(unsafe_code)]

mod acme;
mod admin;
mod authorities;
mod board;
mod bus;
mod check;
mod classic;
mod cli;
mod config;
mod doctor;
mod flags;
mod generate;
mod guarded_path;
mod in_flight;
mod link;
mod log;
mod machine;
mod master;
mod memory_file;
mod operator;
mod php;
mod print;
mod profile;
mod publish;
mod routes;
mod shares;
mod tls;
mod top;
mod trace;
mod wait_names;
mod watch;
mod worker;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use cli::{Cli, Verb};

fn main() -> ExitCode {
    // Before anything else: with the library of another PHP nothing can be trusted.
    if let Err(why) = weft_zend::loaded::check() {
        eprintln!("weft: {why}");
        return ExitCode::from(2);
    }
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if is_for_php(&arguments) {
        return php::cli_main(arguments);
    }
    match Cli::parse().command {
        Verb::Serve(settings) => master::serve(settings),
        Verb::Php { arguments } => php::cli_main(arguments),
        Verb::Check { settings, url } => check::check(settings, &url),
        Verb::Doctor(arguments) => doctor::doctor(arguments),
        Verb::Reload(settings) => master::client::reload(settings),
        Verb::Stop(settings) => master::client::stop(settings),
        Verb::Publish(arguments) => publish::run(arguments),
        Verb::Top(arguments) => top::run(arguments),
        Verb::Profile(arguments) => profile::run(arguments),
        Verb::Renew(settings) => acme::renew(settings),
        Verb::Generate { directory, settings } => generate::run(&directory, &settings.given, &Cli::command()),
        Verb::Version => version(),
    }
}

/// Whether these are arguments of the php command: scripts start `PHP_BINARY`, which is this program, with php's options or
/// with a script's path. weft's own begin with a command, and its own options are those of a program that was given none.
fn is_for_php(arguments: &[OsString]) -> bool {
    let Some(first) = arguments.first().map(|first| first.as_bytes()) else { return false };
    match first.strip_prefix(b"-") {
        Some(option) => !matches!(option, b"h" | b"-help" | b"V" | b"-version" | b""),
        None => first.contains(&b'/') || first.ends_with(b".php"),
    }
}

fn version() -> ExitCode {
    let system = rustix::system::uname();
    let parts = [system.sysname(), system.release(), system.machine()];
    let system = parts.map(|part| part.to_string_lossy()).join(" ");
    print::print(&format!("weft {}\n{}\n{system}\n", env!("CARGO_PKG_VERSION"), php::Support::line()));
    ExitCode::SUCCESS
}
