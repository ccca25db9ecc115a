//! Files with certificates.
//!
//! Must not know what they are for. Invariant: a file without any is a mistake.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error, PemObject};

/// The certificates of a PEM file, in their order; at least one.
///
/// # Errors
/// One line: which file, and what is wrong.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = path.display();
    let unreadable = |error: Error| match error {
        Error::Io(error) => format!("{shown} cannot be read: {error}"),
        error => format!("{shown} is not a PEM file with certificates: {error}"),
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(unreadable)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    if certificates.is_empty() {
        return Err(format!(
            "{shown} has no certificate: name the PEM file that begins with BEGIN CERTIFICATE"
        ));
    }
    Ok(certificates)
}
