//! A `weft.toml` that teaches: every key with its help, its range, its flag and its default, commented out unless it is
//! set.
//!
//! Must not know what a setting means. Invariant: with every comment sign before a key removed, the file sets the
//! defaults.

use std::fmt::Write;

use crate::config::Value;
use crate::config::keys::{Arity, KEYS, Key};

/// The width of comments, in columns.
const COLUMNS: usize = 100;

const HEAD: &str = "\
# The configuration of weft. Every key is here; one that is commented out has its default.
#
#   weft check --config FILE     names every mistake, or says what would be served
#   systemctl reload weft        puts changes into force without losing a request
#
# A flag goes over a variable, a variable over this file. weft.toml(5) has the same table.
";

/// The file, with the settings `given` in force.
pub fn text(given: &[(&'static str, Value)]) -> String {
    let mut text = HEAD.to_string();
    let mut section = "";
    for key in KEYS {
        if key.section != section {
            section = key.section;
            let header = if section == "php" { "php.ini" } else { section };
            // Writing to a String cannot fail.
            let _ = write!(text, "\n[{header}]\n");
        }
        let value = given.iter().find(|(flag, _)| *flag == key.flag).map(|(_, value)| value);
        text.push_str(&entry(key, value));
    }
    text
}

fn entry(key: &Key, value: Option<&Value>) -> String {
    let mut entry = String::from("\n");
    let default = (key.default)();
    let flag = if key.positional { "the command's argument".into() } else { format!("--{}", key.flag) };
    comment(&mut entry, &format!("{}.", key.help));
    comment(
        &mut entry,
        &format!(
            "Allowed: {}. Default: {default}. Flag: {flag}. Variable: {}.",
            (key.allowed)(),
            key.variable()
        ),
    );
    let line = match (key.section, value) {
        ("php", Some(Value::List(settings))) => settings.iter().map(ini_line).collect(),
        ("php", _) => "# memory_limit = \"256M\"\n".to_string(),
        (_, Some(value)) => format!("{} = {}\n", key.name, written(key, value)),
        (_, None) if has_no_default(&default) => format!("# {} = {}\n", key.name, placeholder(key)),
        (_, None) => format!("# {} = {}\n", key.name, written(key, &default_value(key, default))),
    };
    entry + &line
}

/// Whether the default cannot be written as a value of the key.
fn has_no_default(default: &str) -> bool {
    matches!(default, "none" | "the user's")
}

fn placeholder(key: &Key) -> String {
    let value = format!("{:?}", key.value_name);
    if key.arity == Arity::Many { format!("[{value}]") } else { value }
}

fn default_value(key: &Key, default: String) -> Value {
    match key.arity {
        Arity::Many if default == "off" => Value::List(Vec::new()),
        Arity::Many => Value::List(default.split(' ').map(|word| Value::Text(word.into())).collect()),
        _ => Value::Text(default),
    }
}

/// A value in TOML's notation.
fn written(key: &Key, value: &Value) -> String {
    match value {
        Value::List(values) => {
            let values: Vec<String> = values.iter().map(|value| written(key, value)).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Fraction(value) => value.clone(),
        Value::Text(text) if key.arity == Arity::Switch => text.clone(),
        Value::Text(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => text.clone(),
        // Settings are paths, names and addresses; Rust escapes their characters as TOML does.
        Value::Text(text) => format!("{text:?}"),
        Value::Table(_) | Value::Other(_) => String::new(),
    }
}

fn ini_line(setting: &Value) -> String {
    let Value::Text(text) = setting else { return String::new() };
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    format!("{name} = {value:?}\n")
}

/// Adds `words` as comment lines.
fn comment(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split(' ') {
        if line.len() + 1 + word.len() > COLUMNS {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, load};

    fn loaded(text: &str) -> Result<Config, Vec<String>> {
        let directory = crate::master::testing::Directory::new();
        let path = directory.path().join("weft.toml");
        std::fs::write(&path, text).unwrap();
        let config = load(Some(path), std::iter::empty(), Vec::new())?;
        Ok(Config { file: None, ..config })
    }

    /// Uncomments the lines that are a key after a comment sign; those with only a placeholder stay comments.
    fn with_defaults_in_force(text: &str) -> String {
        let keys = KEYS.iter().filter(|key| !has_no_default(&(key.default)()) && key.section != "php");
        keys.fold(text.to_string(), |text, key| {
            text.replace(&format!("\n# {} = ", key.name), &format!("\n{} = ", key.name))
        })
    }

    #[test]
    fn the_sample_says_what_the_defaults_say() {
        let text = text(&[]);
        assert_eq!(loaded(&text).unwrap(), Config::default());
        // `mode` and `queue_bytes_max` have their place in one section each, so the names alone tell keys apart.
        assert_eq!(loaded(&with_defaults_in_force(&text)).unwrap(), Config::default());
        for key in KEYS.iter().filter(|key| key.section != "php") {
            assert!(text.contains(&format!("\n# {} = ", key.name)), "{}", key.name);
        }
    }

    #[test]
    fn given_settings_are_in_force() {
        let list = |texts: &[&str]| Value::List(texts.iter().map(|t| Value::Text((*t).into())).collect());
        let config = loaded(&text(&[
            ("application", Value::Text("/srv/a \"b\"/app.php".into())),
            ("listen", list(&["127.0.0.1:81", "unix:/run/weft/weft.sock"])),
            ("workers", Value::Text("3".into())),
            ("daemon", Value::Boolean(false)),
            ("define", list(&["memory_limit=512M"])),
        ]))
        .unwrap();
        assert_eq!(config.server.application.unwrap().to_str(), Some("/srv/a \"b\"/app.php"));
        assert_eq!(config.server.listen.len(), 2);
        assert_eq!(config.server.workers.count(), 3);
        assert_eq!(config.php.ini, [("memory_limit".to_string(), "512M".to_string())]);
    }
}
