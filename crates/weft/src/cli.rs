//! The command line: weft's commands.
//!
//! Must not know: what a command does, or which settings there are (`flags`). Invariant: each command has one variant of
//! [`Verb`].

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::flags::Settings;

const EXAMPLES: &str = "\
Examples:
  weft serve app.php                           serve the application that app.php returns, on 127.0.0.1:8080
  weft serve app.php --listen :80 --user www   all interfaces; the workers drop root privileges
  weft serve app.php --watch --mode development
                                               reload on changes, show errors in the browser
  weft check app.php                           would it start, and what would it serve?
  weft doctor                                  which limit of this machine bites first?
  weft doctor --extensions                     do the loaded extensions wait cooperatively?
  weft reload                                  load new code; no request is lost
  weft publish news 'Hello'                    send a message to all who have subscribed to the topic
  weft top                                     watch a running server: workers, routes, and what they wait for
  weft profile --seconds 10                    where a running server computes and waits, as a flame graph
  weft php script.php arg                      run a script as php would, on coroutines";

/// weft, a coroutine application server for PHP.
#[derive(Debug, Parser)]
#[command(name = "weft", about, before_help = EXAMPLES, disable_version_flag = true, arg_required_else_help = true)]
#[command(help_template = "{about}\n\n{before-help}{usage-heading} {usage}\n\n{all-args}")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Verb,
}

/// weft's commands.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "made once per process")]
pub enum Verb {
    /// Serve an application
    Serve(Settings),
    /// Run PHP as the php command would: weft php script.php args, weft php -r code, -v, -i, -m
    #[command(disable_help_flag = true)]
    Php {
        /// Passed to PHP untouched
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Check configuration and application, say what would be served and how, and exit
    Check {
        /// What to check
        #[command(flatten)]
        settings: Settings,
        /// Say what a request for URL would do: which rules apply, and which file or script answers; may be repeated
        #[arg(long, value_name = "URL")]
        url: Vec<String>,
    },
    /// Say which limit of this machine bites first and what to do about it, or how loaded extensions wait
    Doctor(crate::doctor::Arguments),
    /// Make the running master load new code, configuration and binary without losing a request
    Reload(Settings),
    /// Make the running master finish its requests and stop
    Stop(Settings),
    /// Publish a message to a topic of a running server
    Publish(crate::publish::Arguments),
    /// Show what a running server does: rates, waits, workers and routes, and what holds it back; a browser shows it at the same
    /// admin address
    Top(crate::top::Arguments),
    /// Take a profile of a running server: on which functions it computes, and where requests wait
    Profile(crate::profile::Arguments),
    /// See to the certificates that are due, as the master does by itself; it must be running, to answer for the names
    #[command(hide = true)]
    Renew(Settings),
    /// Write completions, man pages and a sample configuration into a directory, for packages
    #[command(hide = true)]
    Generate {
        /// Where the files are written
        directory: PathBuf,
        /// What the sample configuration has in force; it comments out the other settings
        #[command(flatten)]
        settings: Settings,
    },
    /// Print the versions of weft, PHP and the system
    #[command(short_flag = 'V', long_flag = "version")]
    Version,
}
