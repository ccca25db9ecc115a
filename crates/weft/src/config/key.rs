//! What a setting is, and the two macros that define one.
//!
//! Must not know which settings there are: those are the rows of [`super::keys`].

use super::{Config, Value};

/// The prefix of every variable that weft reads.
pub const PREFIX: &str = "WEFT_";
/// Bytes, for limits.
pub const KIB: u64 = 1 << 10;
/// The same.
pub const MIB: u64 = 1 << 20;
/// The same.
pub const GIB: u64 = 1 << 30;
/// One day: longer time-outs make no sense.
pub const DAY_MS: u64 = 86_400_000;
/// Ten years: longer ages mean "off".
pub const AGE_S: u64 = 315_360_000;

/// How many values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    /// One value.
    One,
    /// None on the command line: the flag alone turns it on.
    Switch,
    /// Several: the flag may be repeated; a variable is split at spaces.
    Many,
}

/// One setting.
#[derive(Clone, Copy)]
pub struct Key {
    /// Section of `weft.toml`.
    pub section: &'static str,
    /// Name in the section.
    pub name: &'static str,
    /// Long flag without dashes; the variable is `WEFT_` and the flag in capitals.
    pub flag: &'static str,
    /// Short flag.
    pub short: Option<char>,
    /// Whether the flag is the command's argument instead.
    pub positional: bool,
    /// How many values.
    pub arity: Arity,
    /// The name of the value in the help.
    pub value_name: &'static str,
    /// One sentence about its effect.
    pub help: &'static str,
    /// Allowed values, for the documentation.
    pub allowed: fn() -> String,
    /// The default, as one would write it.
    pub default: fn() -> String,
    /// Converts the value to its type and stores it.
    pub set: fn(&mut Config, Value) -> Result<(), String>,
}

impl Key {
    /// Name of the environment variable.
    pub fn variable(&self) -> String {
        format!("{}{}", PREFIX, self.flag.to_ascii_uppercase().replace('-', "_"))
    }
}

/// A key that is not a number.
macro_rules! key {
    ($section:ident.$name:ident, $flag:literal $($short:literal)?, $arity:ident, $value:literal, $allowed:literal, $default:literal,
     |$given:ident| $typed:expr, $help:literal) => {
        Key {
            section: stringify!($section),
            name: stringify!($name),
            flag: $flag,
            short: [$(Some($short),)? None][0],
            positional: false,
            arity: Arity::$arity,
            value_name: $value,
            help: $help,
            allowed: || $allowed.to_string(),
            default: || $default.to_string(),
            set: |config, $given| {
                config.$section.$name = $typed;
                Ok(())
            },
        }
    };
}

/// A key that is a number with a unit and a range.
macro_rules! number {
    ($section:ident.$name:ident, $flag:literal, $unit:ident, $range:expr, $help:literal) => {
        Key {
            section: stringify!($section),
            name: stringify!($name),
            flag: $flag,
            short: None,
            positional: false,
            arity: Arity::One,
            value_name: match Unit::$unit {
                Unit::Count => "N",
                Unit::Bytes => "BYTES",
                Unit::Milliseconds => "MS",
                Unit::Seconds => "S",
            },
            help: $help,
            allowed: || {
                format!("{} to {}", Unit::$unit.show(*$range.start()), Unit::$unit.show(*$range.end()))
            },
            default: || Unit::$unit.show(Config::default().$section.$name as u64),
            set: |config, given| {
                config.$section.$name = given.number(Unit::$unit, $range)? as _;
                Ok(())
            },
        }
    };
}

pub(super) use {key, number};
