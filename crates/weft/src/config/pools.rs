//! Which PHP instances of a worker are for what: those of all document roots together, and those of each application that
//! stays loaded.
//!
//! Must not know instances. Invariant: the number of a site's pool follows from the site's own, so that a job's pool says
//! whose it is.

use std::path::Path;

use super::{Config, Mode, Site};

/// The instances of a document root's scripts, and of the only application.
pub const COMMON: u32 = 0;
/// PHP instances of a worker, at most.
pub const INSTANCES_MAX: u32 = 4096;
/// Instances of a site's application, unless it says otherwise.
const OF_APPLICATION: u32 = 20;

/// An application that stays loaded, and its instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool<'c> {
    /// Its number.
    pub number: u32,
    /// The number of its site.
    pub site: Option<usize>,
    /// What stays loaded.
    pub script: &'c Path,
    /// Requests after which it is loaded again; 0 is never.
    pub requests_max: u64,
}

/// The number of a site's pool, if the site has an application that stays loaded.
pub fn number_of(site: usize) -> u32 {
    site as u32 + 1
}

/// The site whose application the instances of a pool have loaded.
pub fn site_of(number: u32) -> Option<usize> {
    number.checked_sub(1).map(|site| site as usize)
}

impl Config {
    /// The applications that stay loaded, one request at a time in each instance.
    pub fn pools(&self) -> Vec<Pool<'_>> {
        let alone = Mode::of(self).resident_script(self).map(|script| Pool {
            number: COMMON,
            site: None,
            script,
            requests_max: self.resident.requests_max,
        });
        let of_sites = self.sites.iter().enumerate().filter_map(|(number, site)| {
            let requests_max = site.config.resident.requests_max;
            Some(Pool { number: number_of(number), site: Some(number), script: site.script()?, requests_max })
        });
        alone.into_iter().chain(of_sites).collect()
    }

    /// Whether a site has an application that stays loaded.
    pub fn has_site_applications(&self) -> bool {
        self.sites.iter().any(|site| site.script().is_some())
    }

    /// PHP instances of all document roots and of all applications together, where a site has one.
    pub fn instances_of_sites(&self) -> u32 {
        let of_roots = if self.sites.iter().any(|site| site.script().is_none()) {
            Mode::Classic.instances_of_one(self)
        } else {
            0
        };
        let sum = self.sites.iter().map(Site::instances_max).fold(of_roots, u32::saturating_add);
        sum.max(2) // with one alone there would be none
    }
}

impl Site {
    /// What stays loaded; `None`: it is a document root.
    pub fn script(&self) -> Option<&Path> {
        Mode::of(&self.config).resident_script(&self.config)
    }

    /// The instances of its application; 0 if it has none.
    pub fn instances_max(&self) -> u32 {
        match (self.script(), self.config.classic.instances_max) {
            (None, _) => 0,
            (_, 0) => OF_APPLICATION,
            (_, wanted) => wanted,
        }
    }
}
