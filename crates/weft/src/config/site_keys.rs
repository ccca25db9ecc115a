//! How a site is written: the keys of a `[[site]]` of `weft.toml`.
//!
//! Must not know requests, or whether there is something at a path. Invariants: each mistake is refused with its line; a
//! key that is also one of `[classic]`, `[limits]` or `[log]` means the same there.

use std::collections::HashMap;
use std::path::PathBuf;

use super::key::Key;
use super::keys::KEYS;
use super::rule::Rule;
use super::rule_keys::Entry;
use super::{Config, ListenAddress, RunAs, Site, suggest};

/// A site as it stands in the file: what it says over the rest of the configuration is set last.
pub struct Written {
    /// Its file and line.
    pub place: String,
    /// Its keys.
    pub entries: Vec<Entry>,
    /// Its rules.
    pub rules: Vec<Rule>,
}

/// Keys that only a site has.
const OWN: [&str; 9] =
    ["names", "default", "root", "certificates", "keys", "ini", "admin_ini", "environment", "rule"];
/// Keys that other sections have for all sites.
const COMMON: [&str; 9] = [
    "try",
    "symlinks",
    "sendfile",
    "accel_redirect",
    "htaccess",
    "body_bytes_max",
    "request_timeout_ms",
    "shares",
    "access_log",
];
/// The longest host name (RFC 1035 section 2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// Makes the sites; each mistake is one line.
pub fn read(written: Vec<Written>, config: &Config, errors: &mut Vec<String>) -> Vec<Site> {
    let mut sites = Vec::new();
    for one in written {
        match Site::read(one, config) {
            Ok(site) => sites.push(site),
            Err(mistake) => errors.push(mistake),
        }
    }
    sites
}

impl Site {
    /// What logs and reports call it.
    pub fn title(&self) -> &str {
        self.names.first().map_or("default", String::as_str)
    }

    fn read(written: Written, config: &Config) -> Result<Site, String> {
        let Written { place, entries, rules } = written;
        let mut own = Config { sites: Vec::new(), ..config.clone() };
        own.limits.shares.clear();
        own.server.application = None;
        let common_rules = std::mem::take(&mut own.rules);
        own.rules = rules.into_iter().chain(common_rules).collect();
        let mut site = Site {
            place,
            names: Vec::new(),
            is_default: false,
            certificates: Vec::new(),
            keys: Vec::new(),
            ini: Vec::new(),
            admin_ini: Vec::new(),
            environment: Vec::new(),
            config: own,
        };
        for entry in &entries {
            site.set(entry).map_err(|why| format!("{}: {why}", entry.place))?;
        }
        let place = &site.place;
        if site.names.is_empty() && !site.is_default {
            return Err(format!("{place}: a site needs names, its host names, or default = true"));
        }
        if site.config.server.application.is_none() {
            return Err(format!("{place}: a site needs root, its document root"));
        }
        if site.certificates.len() != site.keys.len() {
            return Err(format!(
                "{place}: certificates names {} files and keys {}: name the key of each certificate, in the same order",
                site.certificates.len(),
                site.keys.len()
            ));
        }
        Ok(site)
    }

    fn set(&mut self, entry: &Entry) -> Result<(), String> {
        let (name, value) = (entry.name.as_str(), &entry.value);
        let named = |why: String| format!("{name}: {why}");
        match name {
            "names" => self.names = value.each(|name| host_name(&name.text()?)).map_err(named)?,
            "default" => self.is_default = value.boolean().map_err(named)?,
            "root" => self.config.server.application = Some(value.path().map_err(named)?),
            "certificates" => self.certificates = value.each(super::Value::path).map_err(named)?,
            "keys" => self.keys = value.each(super::Value::path).map_err(named)?,
            "ini" => self.ini = value.ini().map_err(named).and_then(settings)?,
            "admin_ini" => self.admin_ini = value.ini().map_err(named).and_then(settings)?,
            "environment" => self.environment = value.ini().map_err(named).and_then(variables)?,
            _ => {
                let key = common(name).ok_or_else(|| unknown(name))?;
                (key.set)(&mut self.config, value.clone()).map_err(named)?;
            }
        }
        Ok(())
    }
}

fn common(name: &str) -> Option<&'static Key> {
    let of = |key: &&Key| key.name == name && matches!(key.section, "classic" | "limits" | "log");
    COMMON.contains(&name).then(|| KEYS.iter().find(of)).flatten()
}

fn unknown(name: &str) -> String {
    if let Some(key) = KEYS.iter().find(|key| key.name == name) {
        return format!("{name} is for all sites: put it under [{}]", key.section);
    }
    let hint = suggest::hint(name, OWN.into_iter().chain(COMMON));
    format!("unknown key {name} in [[site]]{hint}")
}

/// A host name in small letters.
fn host_name(text: &str) -> Result<String, String> {
    let name = text.to_ascii_lowercase();
    let domain = name.strip_prefix("*.").unwrap_or(&name);
    let wrong = |why: &str| Err(format!("\"{text}\" {why}"));
    if name == "*" {
        return wrong("is no host name: write default = true for a site that gets all other hosts");
    }
    if domain.contains("://") || domain.contains('/') {
        return wrong("is a URL: write only its host name");
    }
    if domain.starts_with('[') && domain.ends_with(']') {
        let inner = &domain[1..domain.len() - 1];
        return match inner.parse::<std::net::Ipv6Addr>() {
            Ok(_) => Ok(name),
            Err(_) => wrong("is not an IPv6 address in brackets"),
        };
    }
    if domain.contains(':') {
        return wrong("has a port: a site has its names at every address");
    }
    if !domain.is_ascii() {
        return wrong("is not ASCII: write it as DNS does, beginning with xn--");
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if name.len() > NAME_BYTES_MAX || !domain.split('.').all(label) {
        return wrong("is not a host name: write a.example or *.a.example");
    }
    Ok(name)
}

/// PHP reads them only when it starts.
const AT_START: [&str; 4] = ["extension", "zend_extension", "disable_functions", "disable_classes"];

fn settings(rows: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    match rows.iter().find(|(name, _)| AT_START.contains(&name.as_str()) || name.starts_with("opcache.")) {
        Some((name, _)) => {
            Err(format!("{name} counts when PHP starts, for all sites: put it under [php.ini]"))
        }
        None => Ok(rows),
    }
}

fn variables(rows: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    let is_name = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
    };
    match rows.iter().find(|(name, value)| !is_name(name) || value.contains('\0')) {
        Some((name, _)) => Err(format!("environment: \"{name}\" cannot be an environment variable")),
        None => Ok(rows),
    }
}

/// What sites need of each other and of the rest of the configuration.
pub fn check_together(config: &Config, errors: &mut Vec<String>) {
    let Some(first) = config.sites.first() else { return };
    if let Some(application) = &config.server.application {
        errors.push(format!(
            "{}: the application {} is named beside sites: leave it out, or make it the root of a site",
            first.place,
            application.display()
        ));
    }
    if !matches!(config.server.run_as, RunAs::Auto | RunAs::Classic) || config.resident.script.is_some() {
        errors.push(format!(
            "{}: sites are document roots in classic mode: for an application that stays loaded start a weft of its own, \
             and leave mode and worker out here",
            first.place
        ));
    }
    let mut known: HashMap<&str, &Site> = HashMap::new();
    for site in &config.sites {
        for name in &site.names {
            match known.insert(name, site) {
                Some(other) if other.place == site.place => {
                    errors.push(format!("{}: names has {name} twice: remove one", site.place));
                }
                Some(other) => errors.push(format!(
                    "{}: {name} is also a name of the site at {}: a name has one site",
                    site.place, other.place
                )),
                None => (),
            }
        }
    }
    let mut defaults = config.sites.iter().filter(|site| site.is_default);
    if let (Some(one), Some(other)) = (defaults.next(), defaults.next()) {
        errors.push(format!(
            "{}: the site at {} is the default already: one site gets the hosts that no site has",
            other.place, one.place
        ));
    }
    check_certificates(config, errors);
}

fn check_certificates(config: &Config, errors: &mut Vec<String>) {
    let wants = config.server.listen.iter().any(ListenAddress::is_https);
    for site in &config.sites {
        if !site.certificates.is_empty() && !wants {
            errors.push(format!(
                "{}: certificates is set, but no address uses it: listen on https://HOST:PORT",
                site.place
            ));
        } else if wants && site.certificates.is_empty() && config.tls.certificates.is_empty() {
            errors.push(format!(
                "{}: an https:// address needs a certificate: name certificates and keys of the site, or in [tls] for all",
                site.place
            ));
        }
    }
}

impl Config {
    /// All files with certificates, and their keys: those of `[tls]`, then those of each site.
    pub fn certificates(&self) -> impl Iterator<Item = (&PathBuf, &PathBuf)> {
        let of_sites = self.sites.iter().flat_map(|site| site.certificates.iter().zip(&site.keys));
        self.tls.certificates.iter().zip(&self.tls.keys).chain(of_sites)
    }
}
