//! The settings as flags: one flag per row of the settings table, and `--config`.
//!
//! Must not know: what a setting means, or which commands take it. Invariant: a flag exists exactly if its row does.

use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::config::keys::{Arity, KEYS, Key};
use crate::config::{self, Config, Value};

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
        "tls" | "acme" => "TLS",
        "admin" => "The operator",
        "trace" => "Traces",
        "limits" => "Limits",
        "topics" => "Topics",
        "classic" => "Document root",
        "resident" => "Worker script",
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
