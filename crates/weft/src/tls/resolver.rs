//! Which certificate a client gets: by the name that it asks for, and by what it can verify.
//!
//! Must not know files. Invariants: a client that asks for a name of a site that has certificates gets one of these. A
//! client that asks for no name, or for one that nobody has, gets the first certificate that it can verify, so the default
//! site's, or else the first one configured, is the default.

use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificate::Pair;
use crate::config::SiteNames;

/// All certificates, in their configured order.
#[derive(Debug)]
pub struct ByName {
    common: Vec<Pair>,
    /// Of each site, its own.
    sites: Vec<Vec<Pair>>,
    names: SiteNames,
}

impl ByName {
    /// Chooses among the certificates for all sites, and those of each site.
    pub fn new(common: Vec<Pair>, sites: Vec<Vec<Pair>>, names: SiteNames) -> ByName {
        ByName { common, sites, names }
    }

    /// Whether a connection that was made for one name may be used for another: both lead to the same certificate
    /// (RFC 9113 section 9.1.1).
    pub fn is_same(&self, one: &str, other: &str) -> bool {
        let choose = |name: &str| self.choose(Some(name), |_| true).map(std::ptr::from_ref);
        choose(one) == choose(other)
    }

    fn choose(&self, name: Option<&str>, fits: impl Fn(&Pair) -> bool) -> Option<&Pair> {
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let covering = |pairs: &'_ [Pair]| {
            pairs.iter().position(|pair| fits(pair) && pair.names.iter().any(|own| covers(own, &name)))
        };
        let first = |pairs: &'_ [Pair]| pairs.iter().position(&fits);
        let site = self.names.find(name.as_bytes()).and_then(|site| self.sites.get(site));
        let is_named = self.names.named(name.as_bytes()).is_some();
        let own = site.filter(|own| is_named && !own.is_empty());
        let own = own.and_then(|own| Some((own, covering(own).or_else(|| first(own))?)));
        let common = || Some((&self.common, covering(&self.common)?));
        let of_default = || site.and_then(|own| Some((own, covering(own).or_else(|| first(own))?)));
        let any = || Some((&self.common, first(&self.common)?));
        let any_site = || self.sites.iter().find_map(|own| Some((own, first(own)?)));
        let (pairs, at) = own.or_else(common).or_else(of_default).or_else(any).or_else(any_site)?;
        pairs.get(at)
    }
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let fits = |pair: &Pair| pair.key.key.choose_scheme(hello.signature_schemes()).is_some();
        self.choose(hello.server_name(), fits).map(|pair| Arc::clone(&pair.key))
    }
}

/// Whether a certificate's name covers a host: `*` stands for one label (RFC 9525 section 6.3).
fn covers(own: &str, host: &str) -> bool {
    match own.strip_prefix("*.") {
        Some(domain) => host.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && rest == domain),
        None => own == host,
    }
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_star_is_one_label() {
        assert!(covers("a.example", "a.example") && covers("*.example", "b.example"));
        for (own, host) in [
            ("*.example", "example"),
            ("*.example", "a.b.example"),
            ("*.example", ".example"),
            ("a.example", "b.example"),
        ] {
            assert!(!covers(own, host), "{own} {host}");
        }
    }
}
