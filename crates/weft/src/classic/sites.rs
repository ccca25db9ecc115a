//! What a worker serves: the document root or worker script of its application, or one for each `[[site]]`.
//!
//! Must not know connections. Invariants: a request has one site, which its host decides, and keeps it; without `[[site]]`
//! there is one, and no host is looked at.

use super::docroot::Docroot;
use crate::config::{Config, Site, SiteNames, pools};

/// A site that is served.
#[derive(Debug)]
pub struct Served {
    /// Its document root and rules.
    pub docroot: Docroot,
    /// What its `[[site]]` says; `None` for an application.
    pub site: Option<Site>,
    /// Whose PHP instances run its scripts.
    pub pool: u32,
}

/// All of them.
#[derive(Debug)]
pub struct Sites {
    list: Vec<Served>,
    /// `None` where there is one for every host.
    names: Option<SiteNames>,
    has_rules: bool,
}

impl Sites {
    /// Opens the application, or the sites.
    ///
    /// # Errors
    /// One line for each document root that cannot be served, with its site's.
    pub fn open(config: &Config) -> Result<Sites, Vec<String>> {
        let mut mistakes = Vec::new();
        let mut list = Vec::new();
        if config.sites.is_empty() {
            let application = config.server.application.as_deref();
            let application = application.ok_or_else(|| vec!["no application was given".to_owned()])?;
            let docroot = Docroot::open(application, config).map_err(|why| vec![why])?;
            list.push(Served { docroot, site: None, pool: pools::COMMON });
        }
        for (number, site) in config.sites.iter().enumerate() {
            let pool = if site.script().is_some() { pools::number_of(number) } else { pools::COMMON };
            match open(site) {
                Ok(docroot) => list.push(Served { docroot, site: Some(site.clone()), pool }),
                Err(why) => mistakes.push(why),
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let names = (!config.sites.is_empty()).then(|| SiteNames::of(&config.sites));
        let has_rules = list.iter().any(|served| served.docroot.rules().is_some());
        Ok(Sites { list, names, has_rules })
    }

    /// Whether a host decides which of them answers.
    pub fn are_several(&self) -> bool {
        self.names.is_some()
    }

    /// Which of them answers requests for a host, given by its name.
    pub fn find(&self, host: &[u8]) -> Option<usize> {
        self.names.as_ref().map_or(Some(0), |names| names.find(host))
    }

    /// Whether a host is one of a site's names, and not only led to the default.
    pub fn is_named(&self, host: &[u8]) -> bool {
        self.names.as_ref().is_none_or(|names| names.named(host).is_some())
    }

    /// The one with this number.
    pub fn get(&self, number: usize) -> Option<&Served> {
        self.list.get(number)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Served> {
        self.list.iter()
    }

    /// Whether there are rules for any path of any site.
    pub fn has_rules(&self) -> bool {
        self.has_rules
    }
}

fn open(site: &Site) -> Result<Docroot, String> {
    let place = &site.place;
    let root = site.config.server.application.as_deref();
    let root = root.ok_or_else(|| format!("{place}: a site needs root, its document root"))?;
    let script = site.script();
    let is_alone = script == Some(root);
    if let Some(script) = script {
        let key = if is_alone { "application" } else { "worker" };
        let found =
            script.metadata().map_err(|error| format!("{place}: {key}: {}: {error}", script.display()))?;
        if found.is_dir() {
            return Err(format!(
                "{place}: {key}: {} is a directory, and what stays loaded is a script: a document root is root",
                script.display()
            ));
        }
    }
    if !is_alone && root.is_file() {
        return Err(format!(
            "{place}: root: {} is a file: name it as application if it stays loaded",
            root.display()
        ));
    }
    Docroot::open(root, &site.config).map_err(|why| format!("{place}: root: {why}"))
}
