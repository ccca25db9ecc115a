//! `WEFT_*` variables.
//!
//! Must not know where else values come from. Invariant: a variable that starts with `WEFT_` is known or refused.

use std::ffi::OsString;
use std::path::PathBuf;

use super::key::PREFIX;
use super::keys::{self, KEYS, Key};
use super::{Value, suggest};

/// Path of the configuration file.
const CONFIG: &str = "WEFT_CONFIG";
/// What a reload passes to the next image of the master; removed from the environment at start.
pub const HANDOVER: &str = "WEFT_HANDOVER";

/// The known variables with their values, and the file that `WEFT_CONFIG` names.
pub fn collect(
    variables: impl Iterator<Item = (OsString, OsString)>,
    errors: &mut Vec<String>,
) -> (Vec<(&'static Key, Value)>, Option<PathBuf>) {
    let (mut known, mut config_file) = (Vec::new(), None);
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX) && *name != HANDOVER) else {
            continue;
        };
        if name == CONFIG {
            config_file = Some(PathBuf::from(value));
            continue;
        }
        let Some(key) = KEYS.iter().find(|key| key.variable() == name) else {
            let names: Vec<String> = KEYS.iter().map(Key::variable).chain([CONFIG.to_string()]).collect();
            let hint = suggest::hint(name, names.iter().map(String::as_str));
            errors
                .push(format!("variable {name} is unknown{hint}: names starting with WEFT_ are weft's own"));
            continue;
        };
        match value.into_string() {
            Ok(text) if key.arity == keys::Arity::Many => {
                known.push((
                    key,
                    Value::List(text.split_whitespace().map(|t| Value::Text(t.into())).collect()),
                ));
            }
            Ok(text) => known.push((key, Value::Text(text))),
            Err(_) => errors.push(format!("variable {name} is not valid UTF-8")),
        }
    }
    (known, config_file)
}
