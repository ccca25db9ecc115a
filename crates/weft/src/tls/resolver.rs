//! Which certificate a client gets: by the name that it asks for, and by what it can verify.
//!
//! Must not know files. Invariant: a client that asks for no name, or for one that nobody has, gets the first certificate
//! that it can verify, so the first one configured is the default.

use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificate::Pair;

/// All certificates, in their configured order.
#[derive(Debug)]
pub struct ByName {
    pairs: Vec<Pair>,
}

impl ByName {
    /// Chooses among these.
    pub fn new(pairs: Vec<Pair>) -> ByName {
        ByName { pairs }
    }
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let fits = |pair: &&Pair| pair.key.key.choose_scheme(hello.signature_schemes()).is_some();
        let named = hello.server_name().map(str::to_ascii_lowercase).and_then(|name| {
            self.pairs.iter().filter(|pair| pair.names.iter().any(|own| covers(own, &name))).find(fits)
        });
        named.or_else(|| self.pairs.iter().find(fits)).map(|pair| Arc::clone(&pair.key))
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
