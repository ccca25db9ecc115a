//! What `redirect` and `hsts_s` mean for a request of a site.
//!
//! Must not know how a site is found. Invariants: where all sites say the same, nothing is done for each request; a promise
//! that an application or a rule makes itself is not changed.

use std::rc::Rc;

use weft_serve::Fields;

use crate::config::Config;

const PROMISE: &str = "Strict-Transport-Security";

/// What the configuration says of TLS to those who answer.
pub struct Secure {
    /// The port to which requests without TLS are sent, if any are.
    port: Option<u16>,
    /// Whether they are where no site has a request's host.
    redirects: bool,
    /// Of each site, whether they are.
    sites: Vec<bool>,
    /// Of each site, what browsers are told; empty if all are told the same.
    promises: Vec<Option<Fields>>,
    common_s: u64,
}

impl Secure {
    /// Of a configuration; `port` is that of the first address with TLS.
    pub fn new(config: &Config, port: Option<u16>) -> Secure {
        let sites: Vec<bool> = config.sites.iter().map(|site| site.config.redirects()).collect();
        let redirects = config.redirects();
        let common_s = config.tls.hsts_s;
        let differ = config.sites.iter().any(|site| site.config.tls.hsts_s != common_s);
        let promise = |seconds: u64| -> Option<Fields> {
            let value = format!("max-age={seconds}").into_bytes();
            (seconds > 0).then(|| Rc::from([(PROMISE.as_bytes().to_vec(), value)]))
        };
        let promises = config.sites.iter().filter(|_| differ).map(|site| promise(site.config.tls.hsts_s));
        Secure {
            port: port.filter(|_| redirects || sites.contains(&true)),
            promises: promises.collect(),
            redirects,
            sites,
            common_s,
        }
    }

    /// Whether requests without TLS may have to go elsewhere.
    pub fn redirects(&self) -> bool {
        self.port.is_some()
    }

    /// The port to which requests of a site go that come without TLS.
    pub fn port_for(&self, site: Option<usize>) -> Option<u16> {
        let redirects = site.and_then(|site| self.sites.get(site)).copied().unwrap_or(self.redirects);
        self.port.filter(|_| redirects)
    }

    /// For how long every answer over TLS promises it, in seconds.
    pub fn hsts_s(&self) -> u64 {
        if self.promises.is_empty() { self.common_s } else { 0 }
    }

    /// The fields of an answer of a site over TLS: those of its rules, and the site's promise.
    pub fn promise(&self, site: usize, fields: Option<Fields>) -> Option<Fields> {
        let Some(Some(promise)) = self.promises.get(site) else { return fields };
        let Some(fields) = fields else { return Some(Rc::clone(promise)) };
        let is_made = fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(PROMISE.as_bytes()));
        if is_made { Some(fields) } else { Some(fields.iter().chain(promise.iter()).cloned().collect()) }
    }
}
