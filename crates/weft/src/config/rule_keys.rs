//! How a rule is written: the keys of a `[[rule]]` of `weft.toml`.
//!
//! Must not know requests, or how a rule is applied. Invariants: each mistake is refused with its line; a rule that keeps
//! clients away is for a path in any case.

use std::sync::Arc;

use super::pattern::{Condition, Template};
use super::rule::{Action, Rule};
use super::suggest;
use super::users::Users;
use super::value::{Unit, Value};

impl Action {
    /// For people, as in the file.
    pub fn says(&self) -> String {
        match self {
            Action::Deny(status) => format!("deny = {status}"),
            Action::Allow => "allow = true".into(),
            Action::Redirect(_, status) => format!("redirect, status = {status}"),
            Action::Rewrite(_) => "rewrite".into(),
            Action::Alias(path) => format!("alias = \"{}\"", path.display()),
            Action::Header(fields) => {
                let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                format!("header: {}", names.join(", "))
            }
            Action::Auth { file, .. } => format!("auth = \"{}\"", file.display()),
            Action::BodyBytesMax(bytes) => format!("body_bytes_max = {}", Unit::Bytes.show(*bytes)),
        }
    }
}

/// A key of a rule, as it stands in the file.
pub struct Entry {
    /// Its file and line.
    pub place: String,
    /// The key.
    pub name: String,
    /// Its value.
    pub value: Value,
}

const CONDITIONS: [&str; 2] = ["path", "match"];
const ACTIONS: [&str; 8] =
    ["deny", "allow", "redirect", "rewrite", "alias", "header", "auth", "body_bytes_max"];
/// Keys that belong to an action.
const DETAILS: [(&str, &str); 2] = [("status", "redirect"), ("realm", "auth")];
/// As of `[limits] body_bytes_max`.
const BODY_BYTES_MAX: u64 = 1 << 40;
/// Fields that belong to the connection.
const FRAMING: [&str; 7] =
    ["connection", "content-length", "date", "keep-alive", "trailer", "transfer-encoding", "upgrade"];

impl Rule {
    /// Reads the keys of a rule.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn read(place: String, entries: &[Entry]) -> Result<Rule, String> {
        let names =
            || CONDITIONS.iter().chain(&ACTIONS).chain(["missing", "status", "realm"].iter()).copied();
        if let Some(unknown) = entries.iter().find(|entry| !names().any(|name| name == entry.name)) {
            let hint = suggest::hint(&unknown.name, names());
            return Err(format!("{}: unknown key {} in [[rule]]{hint}", unknown.place, unknown.name));
        }
        let given = |among: &[&str]| -> Vec<&Entry> {
            entries.iter().filter(|entry| among.contains(&entry.name.as_str())).collect()
        };
        let condition = match given(&CONDITIONS)[..] {
            [condition] => condition,
            [] => return Err(format!("{place}: a rule needs path or match: which paths it is for")),
            _ => return Err(format!("{place}: a rule has path or match, not both")),
        };
        let action = match given(&ACTIONS)[..] {
            [action] => action,
            [] => return Err(format!("{place}: a rule needs an action: {}", ACTIONS.join(", "))),
            [a, b, ..] => {
                return Err(format!(
                    "{place}: a rule has one action, not {} and {}: write two rules",
                    a.name, b.name
                ));
            }
        };
        let find = |name: &str| entries.iter().find(|entry| entry.name == name);
        for (name, of) in DETAILS {
            if let Some(stray) = find(name).filter(|_| action.name != of) {
                return Err(format!("{}: {name} belongs to {of}, not to {}", stray.place, action.name));
            }
        }
        let at = |entry: &Entry, why: String| format!("{}: {why}", entry.place);
        let any_case = matches!(action.name.as_str(), "deny" | "auth");
        let condition = read_condition(condition, any_case).map_err(|why| at(condition, why))?;
        let missing = match find("missing") {
            Some(entry) => entry.value.boolean().map_err(|why| at(entry, format!("missing: {why}")))?,
            None => false,
        };
        if missing && action.name == "alias" {
            return Err(format!("{place}: an alias is for all of its paths: leave missing out"));
        }
        let action = read_action(action, &condition, &find).map_err(|why| at(action, why))?;
        if matches!((&action, &condition), (Action::Alias(_), Condition::Match(_))) {
            return Err(format!("{place}: an alias needs path, whose rest is looked up below it, not match"));
        }
        Ok(Rule { place, condition, missing, action })
    }
}

fn read_condition(entry: &Entry, any_case: bool) -> Result<Condition, String> {
    let named = |why: String| format!("{}: {why}", entry.name);
    if entry.name == "match" {
        return Condition::of_expression(&entry.value.text().map_err(named)?, any_case);
    }
    Condition::of_paths(entry.value.each(Value::text).map_err(named)?, any_case)
}

fn read_action<'e>(
    entry: &Entry,
    condition: &Condition,
    find: &dyn Fn(&str) -> Option<&'e Entry>,
) -> Result<Action, String> {
    let (value, captures) = (&entry.value, condition.captures());
    let named = |why: String| format!("{}: {why}", entry.name);
    Ok(match entry.name.as_str() {
        "deny" => Action::Deny(status("deny", value, &[403, 404, 410])?),
        "allow" => match value.boolean().map_err(named)? {
            true => Action::Allow,
            false => return Err("allow is true, or left out; to refuse paths write deny = 403".into()),
        },
        "redirect" => {
            let status =
                find("status").map(|entry| status("status", &entry.value, &[301, 302, 303, 307, 308]));
            Action::Redirect(
                Template::of_redirect(&value.text().map_err(named)?, captures)?,
                status.transpose()?.unwrap_or(302),
            )
        }
        "rewrite" => Action::Rewrite(Template::of_rewrite(&value.text().map_err(named)?, captures)?),
        "alias" => Action::Alias(value.path().map_err(named)?),
        "header" => Action::Header(fields(value)?),
        "auth" => {
            let file = value.path().map_err(named)?;
            let realm = find("realm").map(|entry| entry.value.text()).transpose()?;
            let realm = realm.unwrap_or_else(|| "Restricted".into());
            if realm.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
                return Err(format!("realm: \"{}\" has quotes or control characters", realm.escape_debug()));
            }
            Action::Auth { realm, users: Arc::new(Users::read(&file)?), file }
        }
        _ => Action::BodyBytesMax(value.number(Unit::Bytes, 0..=BODY_BYTES_MAX).map_err(named)?),
    })
}

fn status(name: &str, value: &Value, allowed: &[u16]) -> Result<u16, String> {
    let all = || allowed.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    let number = value.number(Unit::Count, 0..=999).map_err(|why| format!("{name}: {why}"))?;
    let found = allowed.iter().copied().find(|status| u64::from(*status) == number);
    found.ok_or_else(|| format!("{name}: {number} is not one of {}", all()))
}

fn fields(value: &Value) -> Result<Vec<(String, String)>, String> {
    let Value::Table(rows) = value else {
        return Err("header: write the fields as a table: header = { Cache-Control = \"no-store\" }".into());
    };
    let field = |(name, value): &(String, Value)| {
        let text = value.text().map_err(|why| format!("header: {name}: {why}"))?;
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            return Err(format!("header: \"{name}\" is not the name of a field"));
        }
        if FRAMING.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return Err(format!("header: {name} is the server's own"));
        }
        if text.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
            return Err(format!("header: the value of {name} has control characters"));
        }
        Ok((name.clone(), text))
    };
    rows.iter().map(field).collect()
}
