//! Which host names get their certificates without files.
//!
//! Must not know how a certificate is had. Invariant: files go before certificates that weft sees to itself.

use super::Config;
use super::host_name::{is_certifiable, is_local};

impl Config {
    /// The host names whose certificates weft sees to itself: those of `https://` addresses and of sites for which no file
    /// is named.
    pub fn automatic_names(&self) -> Vec<&str> {
        if !self.wants_tls() || !self.tls.certificates.is_empty() {
            return Vec::new();
        }
        let of_sites = self.sites.iter().filter(|site| site.certificates.is_empty());
        let all = self.server.names.iter().chain(of_sites.flat_map(|site| &site.names));
        let mut names: Vec<&str> = Vec::new();
        for name in all.map(String::as_str).filter(|name| is_certifiable(name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Those of them that the authority of `[acme]` certifies.
    pub fn acme_names(&self) -> Vec<&str> {
        self.automatic_names().into_iter().filter(|name| !is_local(name)).collect()
    }

    /// Those of them that mean this machine, for which weft is the authority.
    pub fn local_names(&self) -> Vec<&str> {
        self.automatic_names().into_iter().filter(|name| is_local(name)).collect()
    }

    /// Whether requests without TLS are sent to the first address with it.
    pub fn redirects(&self) -> bool {
        self.tls.redirect || self.server.redirects
    }
}
