//! Which certificate a client gets: by the name that it asks for, and by what it can verify.
//!
//! Must not know files. Invariants: a client that asks for a name of a site that has certificates gets one of these. A
//! client that asks for no name, or for one that nobody has, gets the first certificate that it can verify, so the default
//! site's, or else the first one configured, is the default. An authority that asks whether this server has a name gets the
//! answer to that, and nothing else.

use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use weft_serve::note_server_name;

use super::certificate::Pair;
use crate::acme::{Challenges, PROTOCOL};
use crate::config::SiteNames;

/// All certificates, in their configured order.
#[derive(Debug)]
pub struct ByName {
    common: Vec<Pair>,
    /// Of each site, its own.
    sites: Vec<Vec<Pair>>,
    names: SiteNames,
    /// What an authority gets that asks whether this server has a name.
    challenges: Option<Arc<Challenges>>,
}

impl ByName {
    /// Chooses among the certificates for all sites, and those of each site.
    pub fn new(
        common: Vec<Pair>,
        sites: Vec<Vec<Pair>>,
        names: SiteNames,
        challenges: Option<Arc<Challenges>>,
    ) -> ByName {
        ByName { common, sites, names, challenges }
    }

    /// Whether a connection that was made for one name may be used for another: both lead to the same certificate
    /// (RFC 9113 section 9.1.1).
    pub fn is_same(&self, one: &str, other: &str) -> bool {
        let choose = |name: &str| self.choose(Some(name), |_| true).map(std::ptr::from_ref);
        choose(one) == choose(other)
    }

    /// Whether a client that asks for a name, which may begin with `*.`, gets a certificate that is for it.
    pub fn is_for(&self, name: &str) -> bool {
        self.choose(Some(name), |_| true).is_some_and(|pair| pair.covers(name))
    }

    /// What the certificate is for that such a client gets.
    pub fn names_for(&self, name: &str) -> &[String] {
        self.choose(Some(name), |_| true).map_or(&[], |pair| &pair.names)
    }

    fn choose(&self, name: Option<&str>, fits: impl Fn(&Pair) -> bool) -> Option<&Pair> {
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let covering = |pairs: &'_ [Pair]| pairs.iter().position(|pair| fits(pair) && pair.covers(&name));
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
        note_server_name(hello.server_name());
        if let Some(challenges) = &self.challenges
            && hello.alpn().is_some_and(|mut offered| offered.any(|one| one == PROTOCOL))
        {
            // Nobody else asks for it, and who does gets nothing else (RFC 8737 section 4).
            return challenges.certificate(&hello.server_name()?.to_ascii_lowercase());
        }
        let fits = |pair: &Pair| pair.key.key.choose_scheme(hello.signature_schemes()).is_some();
        self.choose(hello.server_name(), fits).map(|pair| Arc::clone(&pair.key))
    }
}
