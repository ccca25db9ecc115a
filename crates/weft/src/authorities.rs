//! The authorities whose certificates weft believes when it asks others by HTTPS.
//!
//! Must not know who is asked. Invariant: nobody is believed without a list of authorities.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

/// Where systems keep the certificates of the authorities that they trust, in one file.
const BUNDLES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// TLS that believes those of this file, or else those of the system. `setting` is what names the file.
///
/// # Errors
/// One line: there are none.
pub fn believed(file: Option<&Path>, setting: Option<&str>) -> Result<TlsConfig, String> {
    let none = || format!("no authority is trusted: install ca-certificates, or {}", hint(setting));
    let file = file.map(Path::to_owned).or_else(bundle).ok_or_else(none)?;
    let certificates = trusted(&file, setting)?;
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
        .root_certs(RootCerts::new_with_certs(&certificates))
        .build())
}

fn hint(setting: Option<&str>) -> String {
    format!("name a PEM file with authorities in {}", setting.unwrap_or("the variable SSL_CERT_FILE"))
}

fn bundle() -> Option<PathBuf> {
    // As OpenSSL finds it.
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    named.into_iter().chain(BUNDLES.map(PathBuf::from)).find(|path| path.is_file())
}

fn trusted(path: &Path, setting: Option<&str>) -> Result<Vec<Certificate<'static>>, String> {
    let shown = path.display();
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect())
        .map_err(|error| format!("{shown} cannot be read: {error}: {}", hint(setting)))?;
    if certificates.is_empty() {
        return Err(format!("{shown} has no certificate: {}", hint(setting)));
    }
    Ok(certificates.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
}
