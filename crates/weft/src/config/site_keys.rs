//! How a site is written: the keys of a `[[site]]` of `weft.toml`.
//!
//! Must not know requests, or whether there is something at a path. Invariants: each mistake is refused with its line; a
//! key that is also one of `[classic]`, `[limits]`, `[log]` or `[tls]` means the same there.

use std::collections::HashMap;
use std::path::PathBuf;

use super::host_name::{host_name, is_certifiable};
use super::key::Key;
use super::keys::KEYS;
use super::pools::INSTANCES_MAX;
use super::rule::Rule;
use super::rule_keys::Entry;
use super::settings::Resident;
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
const OWN: [&str; 11] = [
    "names",
    "default",
    "root",
    "application",
    "worker",
    "certificates",
    "keys",
    "ini",
    "admin_ini",
    "environment",
    "rule",
];
/// Those of an application that stays loaded; other sections have them for one that is alone.
const OF_APPLICATION: [&str; 2] = ["instances_max", "requests_max"];
/// Those of a document root.
const OF_ROOT: [&str; 3] = ["try", "symlinks", "htaccess"];
/// Keys that other sections have for all sites.
const COMMON: [&str; 13] = [
    OF_APPLICATION[0],
    OF_APPLICATION[1],
    "try",
    "symlinks",
    "sendfile",
    "accel_redirect",
    "htaccess",
    "body_bytes_max",
    "request_timeout_ms",
    "shares",
    "access_log",
    "redirect",
    "hsts_s",
];

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
        own.server.run_as = RunAs::Classic;
        own.resident = Resident::default();
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
        check_kind(&entries).map_err(|why| format!("{place}: {why}"))?;
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
            "application" => {
                self.config.server.application = Some(value.path().map_err(named)?);
                self.config.server.run_as = RunAs::Resident;
            }
            "worker" => {
                self.config.resident.script = Some(value.path().map_err(named)?);
                self.config.server.run_as = RunAs::Resident;
            }
            "certificates" => self.certificates = value.each(super::Value::path).map_err(named)?,
            "keys" => self.keys = value.each(super::Value::path).map_err(named)?,
            "ini" => self.ini = value.ini().map_err(named).and_then(settings)?,
            "admin_ini" => self.admin_ini = value.ini().map_err(named).and_then(settings)?,
            "environment" => self.environment = value.ini().map_err(named).and_then(variables)?,
            _ => {
                let key = common(name).ok_or_else(|| unknown(name))?;
                (key.set)(&mut self.config, value.clone()).map_err(named)?;
                // What the site says goes over what a name among the addresses says.
                self.config.server.redirects &= name != "redirect";
            }
        }
        Ok(())
    }
}

/// Whether the keys fit together: a document root, with or without a script that stays loaded beside it, or a script alone.
fn check_kind(entries: &[Entry]) -> Result<(), String> {
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let first_of = |names: &[&'static str]| names.iter().copied().find(|name| has(name));
    match (has("root"), has("application"), has("worker")) {
        (false, false, false) => {
            Err("a site needs root, its document root, or application, a script that stays loaded".into())
        }
        (true, true, _) => Err("a site has root or application, not both: name the script that stays loaded beside a document \
                                root as worker"
            .into()),
        (false, _, true) => {
            Err("worker needs root, whose files it lies beside: a script alone is the site's application".into())
        }
        (true, _, false) => match first_of(&OF_APPLICATION) {
            Some("instances_max") => {
                Err("instances_max is for an application that stays loaded: document roots share those of [classic]".into())
            }
            Some(name) => Err(format!("{name} is for an application that stays loaded: name worker or application")),
            None => Ok(()),
        },
        (false, true, false) => match first_of(&OF_ROOT) {
            Some(name) => Err(format!("{name} is for a document root: name root and worker in place of application")),
            None => Ok(()),
        },
        (true, false, true) => Ok(()),
    }
}

fn common(name: &str) -> Option<&'static Key> {
    let sections = ["classic", "limits", "log", "resident", "tls"];
    let of = |key: &&Key| key.name == name && sections.contains(&key.section);
    COMMON.contains(&name).then(|| KEYS.iter().find(of)).flatten()
}

fn unknown(name: &str) -> String {
    if name == "files" {
        return "files is not for sites: name the directory as root, and the script beside it as worker"
            .into();
    }
    if let Some(key) = KEYS.iter().find(|key| key.name == name) {
        return format!("{name} is for all sites: put it under [{}]", key.section);
    }
    let hint = suggest::hint(name, OWN.into_iter().chain(COMMON));
    format!("unknown key {name} in [[site]]{hint}")
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
    check_mode(first, config, errors);
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

/// What the rest of the configuration may say of modes and instances where there are sites, of which one is `first`.
fn check_mode(first: &Site, config: &Config, errors: &mut Vec<String>) {
    let place = &first.place;
    if !matches!(config.server.run_as, RunAs::Auto | RunAs::Classic) {
        errors.push(format!(
            "{place}: a site is a document root, or has an application in resident mode: leave mode out; coroutine mode needs a \
             weft of its own"
        ));
    }
    if config.resident.script.is_some() {
        errors.push(format!(
            "{place}: a worker script is named beside sites: name it in its [[site]], as worker"
        ));
    }
    let instances = config.instances_of_sites();
    if config.has_site_applications() && instances > INSTANCES_MAX {
        errors.push(format!(
            "{place}: the sites have {instances} PHP instances in each worker, and at most {INSTANCES_MAX} are possible: lower \
             instances_max of sites"
        ));
    }
}

fn check_certificates(config: &Config, errors: &mut Vec<String>) {
    let wants = config.server.listen.iter().any(ListenAddress::is_tls);
    for site in &config.sites {
        let place = &site.place;
        if !site.certificates.is_empty() && !wants {
            errors.push(format!(
                "{place}: certificates is set, but no address uses it: listen on https://HOST:PORT"
            ));
        }
        if site.config.tls.redirect && !wants && !config.tls.redirect {
            errors.push(format!(
                "{place}: redirect is on, but no address has TLS: listen on https://HOST:PORT as well"
            ));
        }
        if !wants || !site.certificates.is_empty() || !config.tls.certificates.is_empty() {
            continue;
        }
        // The others are certified one by one.
        if let Some(name) = site.names.iter().find(|name| !is_certifiable(name)) {
            errors.push(format!(
                "{place}: a certificate for {name} cannot be had by itself: name certificates and keys of the site, or in [tls] for all"
            ));
        } else if site.names.is_empty() && config.automatic_names().is_empty() {
            errors.push(format!(
                "{place}: an https:// address needs a certificate: name certificates and keys of the site, or in [tls] for all"
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
