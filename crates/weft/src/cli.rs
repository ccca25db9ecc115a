//! The command line: commands are written by hand, flags come from the rows of the settings table.
//!
//! Must not know what a setting means. Invariant: a flag exists if and only if its row does.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Parser, Subcommand};

use crate::config::keys::{Arity, KEYS, Key};
use crate::config::{self, Config, Value};

const EXAMPLES: &str = "\
Examples:
  weft serve app.php                           serve the application that app.php returns, on 127.0.0.1:8080
  weft serve app.php --listen :80 --user www   all interfaces; the workers drop root privileges
  weft serve app.php --watch --mode development
                                               reload on changes, show errors in the browser
  weft check app.php                           would it start, and what would it serve?
  weft doctor --extensions                     do the loaded extensions wait cooperatively?
  weft reload                                  load new code; no request is lost
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
    Check(Settings),
    /// Report how the waits of the loaded extensions behave: cooperative, offloaded, blocking
    Doctor(crate::doctor::Arguments),
    /// Make the running master load new code, configuration and binary without losing a request
    Reload(Settings),
    /// Make the running master finish its requests and stop
    Stop(Settings),
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

/// The settings given as flags, and the file for the other settings.
#[derive(Debug, Default)]
pub struct Settings {
    /// `--config`.
    pub file: Option<PathBuf>,
    /// Flags in the order of the table.
    pub given: Vec<(&'static str, Value)>,
}

impl Settings {
    /// The configuration from all sources.
    ///
    /// # Errors
    /// One text per mistake.
    pub fn load(self) -> Result<Config, Vec<String>> {
        config::load(self.file, std::env::vars_os(), self.given)
    }
}

const CONFIG: &str = "config";

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        let command = command.next_line_help(false).arg(
            Arg::new(CONFIG)
                .long(CONFIG)
                .short('c')
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help(
                    "Read settings from FILE instead of ./weft.toml; flags and WEFT_* variables override it",
                ),
        );
        KEYS.iter().fold(command, |command, key| command.arg(argument(key)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = KEYS.iter().filter_map(|key| Some((key.flag, given(matches, key)?))).collect();
        Ok(Settings { file: matches.get_one(CONFIG).cloned(), given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The meaning of `--watch` without a value.
const BARE: &str = "true";

fn argument(key: &'static Key) -> Arg {
    let default = (key.default)();
    let argument = Arg::new(key.flag).value_name(key.value_name).help_heading(match key.section {
        "server" => "Server",
        "limits" => "Limits",
        "recycle" => "Recycling",
        "log" => "Logs",
        "trust" => "Proxies",
        "php" => "PHP",
        _ => "Development",
    });
    if key.positional {
        return argument.help(key.help).help_heading(Resettable::Reset);
    }
    let (section, name) = (key.section, key.name);
    let places =
        format!("Allowed: {}. Variable {}, in the file [{section}] {name}.", (key.allowed)(), key.variable());
    let help = match default.as_str() {
        "none" | "off" | "false" => key.help.to_string(),
        _ => format!("{} [{default}]", key.help),
    };
    let argument = argument.long(key.flag).short(key.short).long_help(format!("{help}\n{places}")).help(help);
    // `-h` fits on a screen; `--help` is complete.
    let argument = argument.hide_short_help(!matches!(section, "server" | "php" | "dev"));
    match key.arity {
        Arity::Switch => argument.action(ArgAction::SetTrue),
        Arity::One => argument.action(ArgAction::Set).allow_hyphen_values(true),
        // The value needs its `=`; otherwise `--watch app.php` would watch the application instead of serving
        // it.
        Arity::Many if key.flag == "watch" => argument
            .action(ArgAction::Append)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(BARE),
        Arity::Many => argument.action(ArgAction::Append),
    }
}

fn given(matches: &ArgMatches, key: &Key) -> Option<Value> {
    match key.arity {
        Arity::Switch => matches.get_flag(key.flag).then_some(Value::Boolean(true)),
        Arity::One => matches.get_one::<String>(key.flag).map(|text| Value::Text(text.clone())),
        Arity::Many => {
            let texts = matches.get_many::<String>(key.flag)?;
            Some(Value::List(texts.map(|text| Value::Text(text.clone())).collect()))
        }
    }
}
