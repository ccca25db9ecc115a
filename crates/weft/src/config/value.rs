//! A value as it was given, before a key converts it to its type.
//!
//! Must not know its key. Invariant: text (flags, variables) and TOML with the same meaning become equal.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use weft_serve::ProxyFields;

use super::{
    Backplane, ClientCertificates, Environment, ExtraWorkers, Format, Level, ListenAddress, LogTarget,
    Network, Place, RoutePattern, RunAs, Share, Symlinks, Workers,
};

/// A value from a flag, a variable or the file.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A value written as text.
    Text(String),
    /// A TOML integer.
    Integer(i64),
    /// A TOML float, as it is written.
    Fraction(String),
    /// A TOML boolean, or a flag without a value.
    Boolean(bool),
    /// A TOML array, a repeated flag, or a variable split at spaces.
    List(Vec<Value>),
    /// A TOML table of names and values.
    Table(Vec<(String, Value)>),
    /// A TOML type that no key accepts, by name.
    Other(&'static str),
}

/// The notation of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// Bytes, optionally with KiB, MiB or GiB.
    Bytes,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// The number as help and documentation show it.
    pub fn show(self, number: u64) -> String {
        match self {
            Unit::Bytes if number > 0 && number.is_multiple_of(1 << 30) => format!("{}GiB", number >> 30),
            Unit::Bytes if number > 0 && number.is_multiple_of(1 << 20) => format!("{}MiB", number >> 20),
            Unit::Bytes if number > 0 && number.is_multiple_of(1 << 10) => format!("{}KiB", number >> 10),
            _ => number.to_string(),
        }
    }

    fn what(self) -> &'static str {
        match self {
            Unit::Count => "a whole number",
            Unit::Bytes => "a number of bytes such as 65536, 64KiB or 8MiB",
            Unit::Milliseconds => "a whole number of milliseconds",
            Unit::Seconds => "a whole number of seconds",
        }
    }
}

/// The result of converting a value; the error says what was expected.
pub type Typed<T> = Result<T, String>;

impl Value {
    /// A number within `range`.
    pub fn number(&self, unit: Unit, range: RangeInclusive<u64>) -> Typed<u64> {
        let number = match self {
            Value::Integer(n) => u64::try_from(*n).ok(),
            Value::Text(text) => parse_number(text.trim(), unit),
            _ => None,
        };
        let number = number.ok_or_else(|| format!("expected {}, got {}", unit.what(), self.shown()))?;
        if range.contains(&number) {
            return Ok(number);
        }
        Err(format!(
            "{} is out of range: allowed are {} to {}",
            self.shown(),
            unit.show(*range.start()),
            unit.show(*range.end())
        ))
    }

    /// A time slice: milliseconds with up to three decimals. Zero is off.
    pub fn slice(&self) -> Typed<Duration> {
        /// Below it, a worker would do little but switch.
        const MIN: Duration = Duration::from_micros(50);
        const MAX: Duration = Duration::from_secs(60);
        let slice = match self {
            Value::Integer(n) => u64::try_from(*n).ok().map(Duration::from_millis),
            Value::Text(text) | Value::Fraction(text) => parse_milliseconds(text.trim()),
            _ => None,
        };
        let slice = slice.ok_or_else(|| {
            format!("expected milliseconds, with up to three decimals, got {}", self.shown())
        })?;
        if slice.is_zero() || (MIN..=MAX).contains(&slice) {
            return Ok(slice);
        }
        Err(format!("{} is out of range: allowed are 0, and 0.05 to 60000", self.shown()))
    }

    /// A part of a whole: 0 is none of it, 1 all.
    pub fn ratio(&self) -> Typed<f64> {
        let ratio = match self {
            Value::Integer(n) => Some(*n as f64),
            Value::Text(text) | Value::Fraction(text) => text.trim().parse().ok(),
            _ => None,
        };
        let is_part = |ratio: &f64| (0.0..=1.0).contains(ratio);
        ratio.filter(is_part).ok_or_else(|| format!("expected a number from 0 to 1, got {}", self.shown()))
    }

    /// `true` or `false`, also as text.
    pub fn boolean(&self) -> Typed<bool> {
        match self {
            Value::Boolean(b) => Ok(*b),
            Value::Text(t) if matches!(t.as_str(), "true" | "1" | "on" | "yes") => Ok(true),
            Value::Text(t) if matches!(t.as_str(), "false" | "0" | "off" | "no") => Ok(false),
            _ => Err(format!("expected true or false, got {}", self.shown())),
        }
    }

    /// Non-empty text.
    pub fn text(&self) -> Typed<String> {
        match self {
            Value::Text(t) if t.is_empty() => Err("is empty: leave the key out instead".into()),
            Value::Text(t) if t.contains('\0') => Err("contains a NUL byte".into()),
            Value::Text(t) => Ok(t.clone()),
            _ => Err(format!("expected text, got {}", self.shown())),
        }
    }

    /// A name of letters, digits and dashes.
    pub fn name(&self) -> Typed<String> {
        let text = self.text()?;
        let fits = text.len() <= 32 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if fits { Ok(text) } else { Err("expected up to 32 letters, digits and dashes".into()) }
    }

    /// A path.
    pub fn path(&self) -> Typed<PathBuf> {
        self.text().map(PathBuf::from)
    }

    /// What a client proves itself with.
    pub fn token(&self) -> Typed<String> {
        let token = self.text()?;
        let is_fit = (16..=256).contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic());
        if is_fit {
            Ok(token)
        } else {
            Err("a token has 16 to 256 printable ASCII characters, no spaces: openssl rand -hex 24 makes one"
                .into())
        }
    }

    /// One of a few words; a near miss gets a suggestion.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Typed<T> {
        let names: Vec<&str> = words.iter().map(|w| w.0).collect();
        if let Value::Text(text) = self {
            if let Some(found) = words.iter().find(|w| w.0 == text) {
                return Ok(found.1);
            }
            let near = super::suggest::nearest(text, names.iter().copied());
            let hint = near.map(|n| format!(" (did you mean \"{n}\"?)")).unwrap_or_default();
            return Err(format!("{} is not one of {}{hint}", self.shown(), names.join(", ")));
        }
        Err(format!("expected one of {}, got {}", names.join(", "), self.shown()))
    }

    /// Each entry of a list; a single value counts as a list of one.
    pub fn each<T>(&self, typed: impl Fn(&Value) -> Typed<T>) -> Typed<Vec<T>> {
        match self {
            Value::List(entries) => entries.iter().map(typed).collect(),
            one => Ok(vec![typed(one)?]),
        }
    }

    /// `auto` or a number of workers.
    pub fn workers(&self) -> Typed<Workers> {
        if matches!(self, Value::Text(t) if t == "auto") {
            return Ok(Workers::Auto);
        }
        let count =
            self.number(Unit::Count, 1..=WORKERS_MAX).map_err(|why| format!("{why} (or \"auto\")"))?;
        Ok(Workers::Exactly(count as usize))
    }

    /// `auto` or a number of further workers.
    pub fn extra_workers(&self) -> Typed<ExtraWorkers> {
        if matches!(self, Value::Text(t) if t == "auto") {
            return Ok(ExtraWorkers::Auto);
        }
        let count =
            self.number(Unit::Count, 0..=WORKERS_MAX).map_err(|why| format!("{why} (or \"auto\")"))?;
        Ok(ExtraWorkers::AtMost(count as usize))
    }

    /// The mode in which an application runs.
    pub fn run_as(&self) -> Typed<RunAs> {
        self.word(&[
            ("auto", RunAs::Auto),
            ("classic", RunAs::Classic),
            ("resident", RunAs::Resident),
            ("coroutine", RunAs::Coroutine),
        ])
    }

    /// `follow` or `inside`.
    pub fn symlinks(&self) -> Typed<Symlinks> {
        self.word(&[("follow", Symlinks::Follow), ("inside", Symlinks::Inside)])
    }

    /// A rule of `[classic] try`.
    pub fn rule(&self) -> Typed<String> {
        let rule = self.text()?;
        if rule_is_sound(&rule) {
            return Ok(rule);
        }
        Err(format!("expected $path, $path/NAME or NAME below the document root, got {}", self.shown()))
    }

    /// Where to listen.
    pub fn place(&self) -> Typed<Place> {
        match self {
            Value::Integer(port) => port.to_string().parse(),
            _ => self.text()?.parse(),
        }
    }

    /// An address at which a server listens for its operator.
    pub fn operators(&self) -> Typed<ListenAddress> {
        let address = self.text()?.parse::<ListenAddress>()?;
        let hint = "is for clients: write admin+unix:/path or admin://HOST:PORT";
        if address.is_admin() { Ok(address) } else { Err(format!("{address} {hint}")) }
    }

    /// What joins the topics of several hosts. The value is not shown: it may hold a password.
    pub fn backplane(&self) -> Typed<Backplane> {
        self.text()?.parse()
    }

    /// The directory of an authority (RFC 8555 section 7.1.1).
    pub fn acme_directory(&self) -> Typed<String> {
        let text = self.text()?;
        let is_url = |text: &str| {
            text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
                && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        match text.as_str() {
            "staging" => Ok("https://acme-staging-v02.api.letsencrypt.org/directory".into()),
            url if is_url(url) => Ok(text),
            _ => Err(format!(
                "expected the https:// URL of an ACME directory, or staging, got {}",
                self.shown()
            )),
        }
    }

    /// An e-mail address.
    pub fn email(&self) -> Typed<String> {
        let text = self.text()?;
        let sound =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
        match text.split_once('@') {
            Some((user, host)) if sound(user) && sound(host) && !host.contains('@') => Ok(text),
            _ => Err(format!("expected an e-mail address, got {}", self.shown())),
        }
    }

    /// A network in CIDR form.
    pub fn network(&self) -> Typed<Network> {
        self.text()?.parse()
    }

    /// Paths whose requests are counted together.
    pub fn routes(&self) -> Typed<Vec<RoutePattern>> {
        const ROUTES_MAX: usize = 100;
        let routes = self.each(|pattern| RoutePattern::parse(pattern.text()?))?;
        if routes.len() > ROUTES_MAX {
            return Err(format!("names {} patterns: at most {ROUTES_MAX} are counted apart", routes.len()));
        }
        Ok(routes)
    }

    /// Bounds on requests that run at once.
    pub fn shares(&self) -> Typed<Vec<Share>> {
        super::share::shares(&self.each(Value::text)?)
    }

    /// `off`, `-` or a path.
    pub fn log_target(&self) -> Typed<LogTarget> {
        Ok(match self.text()?.as_str() {
            "off" => LogTarget::Off,
            "-" => LogTarget::Stream,
            path => LogTarget::File(path.into()),
        })
    }

    /// `text` or `json`.
    pub fn format(&self) -> Typed<Format> {
        self.word(&[("text", Format::Text), ("json", Format::Json)])
    }

    /// A severity.
    pub fn level(&self) -> Typed<Level> {
        self.word(&[
            ("error", Level::Error),
            ("warn", Level::Warn),
            ("info", Level::Info),
            ("debug", Level::Debug),
            ("trace", Level::Trace),
        ])
    }

    /// `production` or `development`.
    pub fn environment(&self) -> Typed<Environment> {
        self.word(&[("production", Environment::Production), ("development", Environment::Development)])
    }

    /// Whether clients are asked for certificates.
    pub fn client_certificates(&self) -> Typed<ClientCertificates> {
        self.word(&[
            ("required", ClientCertificates::Required),
            ("optional", ClientCertificates::Optional),
            ("off", ClientCertificates::Off),
        ])
    }

    /// `x-forwarded` or `forwarded`.
    pub fn proxy_fields(&self) -> Typed<ProxyFields> {
        self.word(&[("x-forwarded", ProxyFields::XForwarded), ("forwarded", ProxyFields::Forwarded)])
    }

    /// Paths to watch; `true` stands for the application's own directory, as the empty path.
    pub fn watch(&self) -> Typed<Vec<PathBuf>> {
        match self {
            Value::Boolean(false) => Ok(Vec::new()),
            Value::List(entries) if entries.len() == 1 && entries[0].boolean() == Ok(false) => Ok(Vec::new()),
            _ => self.each(|entry| match entry.boolean() {
                Ok(true) => Ok(PathBuf::new()),
                Ok(false) => Err("off has to stand alone, without paths".into()),
                Err(_) => entry.path(),
            }),
        }
    }

    /// PHP ini settings: a table, or texts of the form `name=value`.
    pub fn ini(&self) -> Typed<Vec<(String, String)>> {
        if let Value::Table(rows) = self {
            let mut settings = Vec::new();
            add_settings("", rows, &mut settings)?;
            return Ok(settings);
        }
        self.each(|entry| {
            let text = entry.text()?;
            // As with php's own -d: a name alone means "1" (sapi/cli/php_cli.c).
            let (name, value) = text.split_once('=').unwrap_or((&text, "1"));
            if name.trim().is_empty() {
                return Err(format!("expected name=value, got {}", entry.shown()));
            }
            Ok((name.trim().to_string(), value.to_string()))
        })
    }

    fn ini_value(&self) -> Typed<String> {
        match self {
            Value::Text(t) => Ok(t.clone()),
            Value::Integer(n) => Ok(n.to_string()),
            Value::Boolean(b) => Ok(if *b { "1" } else { "0" }.to_string()),
            _ => Err(format!("expected text, a number or a boolean, got {}", self.shown())),
        }
    }

    /// The value as an error message quotes it, shortened if it would fill the screen.
    fn shown(&self) -> String {
        match self {
            Value::Text(t) if t.chars().count() > 60 => {
                format!("\"{}…\"", t.chars().take(60).collect::<String>())
            }
            Value::Text(t) => format!("\"{t}\""),
            Value::Integer(n) => n.to_string(),
            Value::Fraction(text) => text.clone(),
            Value::Boolean(b) => b.to_string(),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
            Value::Other(kind) => (*kind).to_string(),
        }
    }
}

/// Adds the rows of a table; to TOML, a name with a dot is a table in a table.
fn add_settings(above: &str, rows: &[(String, Value)], to: &mut Vec<(String, String)>) -> Typed<()> {
    for (name, value) in rows {
        match value {
            Value::Table(rows) => add_settings(&format!("{above}{name}."), rows, to)?,
            value => to.push((format!("{above}{name}"), value.ini_value()?)),
        }
    }
    Ok(())
}

/// More worker processes than this on one machine is a typing mistake.
const WORKERS_MAX: u64 = 1024;

/// Whether a rule of `[classic] try` stays below the document root.
fn rule_is_sound(rule: &str) -> bool {
    let path = match rule.strip_prefix("$path") {
        Some(behind) if !behind.is_empty() && !behind.starts_with('/') => return false,
        Some(behind) => behind,
        None if rule.is_empty() => return false,
        None => rule,
    };
    path.split('/').all(|segment| segment != "..")
}

/// Digits, and up to three more behind a point.
fn parse_milliseconds(text: &str) -> Option<Duration> {
    const DECIMALS: usize = 3;
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > DECIMALS {
        return None;
    }
    let micros: u64 = format!("{decimals:0<DECIMALS$}").parse().ok()?;
    Some(Duration::from_micros(whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(micros)?))
}

fn parse_number(text: &str, unit: Unit) -> Option<u64> {
    let suffixes: &[(&str, u32)] = match unit {
        Unit::Bytes => &[("KiB", 10), ("MiB", 20), ("GiB", 30), ("K", 10), ("M", 20), ("G", 30)],
        _ => &[],
    };
    for (suffix, shift) in suffixes {
        if let Some(digits) = text.strip_suffix(suffix) {
            return digits.trim_end().parse::<u64>().ok()?.checked_mul(1 << shift);
        }
    }
    text.parse().ok()
}
