//! `weft.toml`: looks up each key in the table; each error names its line.
//!
//! Must not know what a key means. Invariant: nothing in the file is ignored.

use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::keys::{KEYS, Key};
use super::rule::Rule;
use super::rule_keys::Entry;
use super::site_keys::Written;
use super::{Config, Value, suggest};

/// The name of the tables that are rules.
const RULE: &str = "rule";
/// The name of the tables that are sites.
const SITE: &str = "site";
/// More document roots than this are not one server's.
const SITES_MAX: usize = 2_000;
/// Rules are tried one by one: more of them are not written by hand.
const RULES_MAX: usize = 1_000;
/// Read from the current directory if no file is named.
const DEFAULT_NAME: &str = "weft.toml";
/// A larger file is not a configuration.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The named file, else `weft.toml` in the current directory if there is one.
pub fn find(named: Option<PathBuf>) -> Option<PathBuf> {
    named.or_else(|| Some(PathBuf::from(DEFAULT_NAME)).filter(|path| path.exists()))
}

/// Sets the file's values in `config`; returns its sites.
pub fn apply(path: &Path, config: &mut Config, errors: &mut Vec<String>) -> Vec<Written> {
    let mut sites = Vec::new();
    let text = match read(path) {
        Ok(text) => text,
        Err(why) => {
            errors.push(format!("{}: {why}", path.display()));
            return sites;
        }
    };
    let starts = line_starts(&text);
    let place = |offset: usize| format!("{}:{}", path.display(), line(&starts, offset));
    let table = match DeTable::parse(&text) {
        Ok(table) => table,
        Err(error) => {
            let offset = error.span().map_or(0, |span| span.start);
            errors.push(format!("{}: {}", place(offset), error.message()));
            return sites;
        }
    };
    for (section, value) in table.get_ref() {
        let (name, at) = (section.get_ref().as_ref(), place(section.span().start));
        match name {
            RULE => match rules(&at, value.get_ref(), &place) {
                Ok(rules) => config.rules = rules,
                Err(mistakes) => errors.extend(mistakes),
            },
            SITE => match self::sites(&at, value.get_ref(), &place) {
                Ok(found) => sites = found,
                Err(mistakes) => errors.extend(mistakes),
            },
            _ => section_of(name, &at, value.get_ref(), &place, config, errors),
        }
    }
    sites
}

fn section_of(
    name: &str,
    at: &str,
    value: &DeValue<'_>,
    place: &dyn Fn(usize) -> String,
    config: &mut Config,
    errors: &mut Vec<String>,
) {
    if !KEYS.iter().any(|key| key.section == name) {
        errors.push(unknown_section(at, name, value));
        return;
    }
    let DeValue::Table(entries) = value else {
        errors
            .push(format!("{at}: {name} is a section: write [{name}] on a line of its own, its keys below"));
        return;
    };
    for (key, value) in entries {
        let at = place(key.span().start);
        let applied = apply_key(name, key.get_ref(), value.get_ref(), config);
        errors.extend(applied.err().map(|why| format!("{at}: {why}")));
    }
}

/// The sites, in their order.
fn sites(
    at: &str,
    value: &DeValue<'_>,
    place: &dyn Fn(usize) -> String,
) -> Result<Vec<Written>, Vec<String>> {
    let not_tables = || vec![format!("{at}: site is a list of tables: write [[site]] above each site")];
    let DeValue::Array(tables) = value else { return Err(not_tables()) };
    if tables.len() > SITES_MAX {
        return Err(vec![format!("{at}: there are {} sites, at most {SITES_MAX} are served", tables.len())]);
    }
    let (mut sites, mut mistakes) = (Vec::new(), Vec::new());
    for table in tables {
        let DeValue::Table(keys) = table.get_ref() else { return Err(not_tables()) };
        let own = keys.iter().find(|(key, _)| key.get_ref() == RULE);
        let own = own.map(|(key, value)| rules(&place(key.span().start), value.get_ref(), place));
        match own.unwrap_or(Ok(Vec::new())) {
            Ok(rules) => {
                let mut entries = entries(keys, place);
                entries.retain(|entry| entry.name != RULE);
                sites.push(Written { place: place(table.span().start), entries, rules });
            }
            Err(of_rules) => mistakes.extend(of_rules),
        }
    }
    if mistakes.is_empty() { Ok(sites) } else { Err(mistakes) }
}

/// The keys of a table, each with its place.
fn entries(keys: &DeTable<'_>, place: &dyn Fn(usize) -> String) -> Vec<Entry> {
    keys.iter()
        .map(|(key, value)| Entry {
            place: place(key.span().start),
            name: key.get_ref().to_string(),
            value: convert(value.get_ref()),
        })
        .collect()
}

/// The rules, in their order.
fn rules(at: &str, value: &DeValue<'_>, place: &dyn Fn(usize) -> String) -> Result<Vec<Rule>, Vec<String>> {
    let not_tables = || vec![format!("{at}: rule is a list of tables: write [[rule]] above each rule")];
    let DeValue::Array(tables) = value else { return Err(not_tables()) };
    if tables.len() > RULES_MAX {
        return Err(vec![format!("{at}: there are {} rules, at most {RULES_MAX} are read", tables.len())]);
    }
    let (mut rules, mut mistakes) = (Vec::new(), Vec::new());
    for table in tables {
        let DeValue::Table(keys) = table.get_ref() else { return Err(not_tables()) };
        match Rule::read(place(table.span().start), &entries(keys, place)) {
            Ok(rule) => rules.push(rule),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(rules) } else { Err(mistakes) }
}

fn read(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|e| format!("cannot be read: {e}"))?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("has {size} bytes; a configuration has at most {FILE_BYTES_MAX}"));
    }
    std::fs::read_to_string(path).map_err(|e| format!("cannot be read: {e}"))
}

fn apply_key(section: &str, name: &str, value: &DeValue<'_>, config: &mut Config) -> Result<(), String> {
    match KEYS.iter().find(|key| key.section == section && key.name == name) {
        Some(key) => (key.set)(config, convert(value)).map_err(|why| format!("{section}.{name}: {why}")),
        None => {
            if let Some(elsewhere) = KEYS.iter().find(|key| key.name == name) {
                return Err(format!("{name} belongs in section [{}], not [{section}]", elsewhere.section));
            }
            let here = KEYS.iter().filter(|key| key.section == section).map(|key| key.name);
            Err(format!("unknown key {name} in [{section}]{}", suggest::hint(name, here)))
        }
    }
}

fn unknown_section(at: &str, name: &str, value: &DeValue<'_>) -> String {
    let sections = KEYS.iter().map(|key| key.section);
    if matches!(value, DeValue::Table(_)) {
        return format!("{at}: unknown section [{name}]{}", suggest::hint(name, sections));
    }
    match KEYS.iter().find(|key| key.name == name) {
        Some(Key { section, .. }) => {
            format!("{at}: {name} is outside a section: put it under [{section}]")
        }
        None => format!("{at}: unknown key {name}{}", suggest::hint(name, KEYS.iter().map(|key| key.name))),
    }
}

fn convert(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Array(entries) => {
            Value::List(entries.iter().map(|entry| convert(entry.get_ref())).collect())
        }
        DeValue::Integer(n) => {
            let digits = n.as_str().replace('_', "");
            i64::from_str_radix(&digits, n.radix()).map_or(Value::Other("a number too large"), Value::Integer)
        }
        DeValue::Table(entries) => Value::Table(
            entries.iter().map(|(k, v)| (k.get_ref().to_string(), convert(v.get_ref()))).collect(),
        ),
        DeValue::Float(number) => Value::Fraction(number.as_str().replace('_', "")),
        DeValue::Datetime(_) => Value::Other("a date"),
    }
}

/// Where each line begins.
fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

fn line(starts: &[usize], offset: usize) -> usize {
    starts.partition_point(|start| *start <= offset)
}
