//! A certificate with its chain and its key, checked.
//!
//! Must not know who asks for it. Invariant: a [`Pair`] that exists can be used now: its key fits, it has not expired, and
//! a client that knows the authority finds the way to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

use super::pem;

/// A certificate and its key.
#[derive(Debug)]
pub struct Pair {
    /// For rustls.
    pub key: Arc<CertifiedKey>,
    /// The host names that it is for, in small letters; one may begin with `*.`.
    pub names: Vec<String>,
    /// From when on it is valid, in seconds since 1970.
    pub begin: u64,
    /// Until when.
    pub end: u64,
}

impl Pair {
    /// Whether it is for a host, in small letters.
    pub fn covers(&self, host: &str) -> bool {
        self.names.iter().any(|own| covers(own, host))
    }
}

/// Whether a certificate's name covers a host: `*` stands for one label (RFC 9525 section 6.3).
fn covers(own: &str, host: &str) -> bool {
    match own.strip_prefix("*.") {
        Some(domain) => host.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && rest == domain),
        None => own == host,
    }
}

/// Reads and checks a pair of files.
///
/// # Errors
/// One line: which file, what is wrong, what to do.
pub fn read(chain: &Path, key: &Path, provider: &CryptoProvider) -> Result<Pair, String> {
    let shown = chain.display();
    let certificates = pem::certificates(chain)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
        rustls::pki_types::pem::Error::Io(error) => format!("{} cannot be read: {error}", key.display()),
        error => format!("{} is not a PEM file with an unencrypted private key: {error}", key.display()),
    })?;
    let parsed = certificates
        .iter()
        .map(|der| X509Certificate::from_der(der).map(|(_, certificate)| certificate))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("{shown}: a certificate cannot be read: {error}"))?;
    let names = check(chain, &parsed)?;
    let time = |at: ASN1Time| u64::try_from(at.timestamp()).unwrap_or_default();
    let validity = parsed[0].validity();
    let (begin, end) = (time(validity.not_before), time(validity.not_after));
    let mut certified =
        CertifiedKey::from_der(certificates, private, provider).map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                format!(
                    "{} is not the key of {shown}: certificates and keys are paired in their order",
                    key.display()
                )
            }
            error => format!("{shown} and {} cannot be used: {error}", key.display()),
        })?;
    certified.ocsp = std::fs::read(ocsp_path(chain)).ok().filter(|response| !response.is_empty());
    Ok(Pair { key: Arc::new(certified), names, begin, end })
}

/// Where a response of the authority's status service is looked for, in DER: beside the certificate.
pub fn ocsp_path(chain: &Path) -> PathBuf {
    let mut name = chain.as_os_str().to_owned();
    name.push(".ocsp");
    name.into()
}

/// Checks validity and chain, and returns the names.
fn check(path: &Path, chain: &[X509Certificate<'_>]) -> Result<Vec<String>, String> {
    let (shown, leaf, now) = (path.display(), &chain[0], ASN1Time::now());
    let validity = leaf.validity();
    if validity.not_after < now {
        return Err(format!("{shown} has expired on {}: renew the certificate", validity.not_after));
    }
    if validity.not_before > now {
        return Err(format!("{shown} is not valid before {}: check the clock", validity.not_before));
    }
    for (at, certificate) in chain.iter().enumerate() {
        let is_its_own = certificate.issuer() == certificate.subject();
        match chain.get(at + 1) {
            Some(next) if certificate.issuer() != next.subject() => {
                return Err(format!(
                    "{shown}: certificate {} is not from the one after it: put the server's own first, then each issuer",
                    at + 1
                ));
            }
            None if at == 0 && !is_its_own => {
                return Err(format!(
                    "{shown} misses its chain: append the certificate of \"{}\" (authorities often call such a file fullchain.pem)",
                    certificate.issuer()
                ));
            }
            _ => (),
        }
    }
    let names = leaf.subject_alternative_name().ok().flatten();
    let names = names.into_iter().flat_map(|extension| &extension.value.general_names);
    Ok(names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        })
        .collect())
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
