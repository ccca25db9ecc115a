//! The settings of `[tls]` and `[acme]` as types.
//!
//! Must not know how a value is written, or how a certificate is had. Invariant: the default of a setting stands here only.

use std::path::PathBuf;

/// Let's Encrypt's directory.
const DIRECTORY: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// `[tls]`: certificates, and what follows from having them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tls {
    /// Files with a certificate and its chain each.
    pub certificates: Vec<PathBuf>,
    /// Their keys, in the same order.
    pub keys: Vec<PathBuf>,
    /// The authorities whose clients are known.
    pub client_ca: Option<PathBuf>,
    /// Whether clients are asked for certificates.
    pub client_certificates: ClientCertificates,
    /// Whether requests without TLS are sent to the first address with it.
    pub redirect: bool,
    /// How long browsers are told to use TLS only, in seconds; 0 tells them nothing.
    pub hsts_s: u64,
}

/// Whether clients are asked for certificates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// They are not asked.
    Off,
    /// They are asked, and may have none.
    Optional,
    /// Who has none is refused.
    #[default]
    Required,
}

/// `[acme]`: certificates that weft sees to itself (RFC 8555).
#[derive(Debug, Clone, PartialEq)]
pub struct Acme {
    /// The URL of the authority's directory.
    pub directory: String,
    /// Whom the authority writes to: e-mail addresses.
    pub contact: Vec<String>,
    /// Whether the operator agrees to the authority's terms of service.
    pub terms_agreed: bool,
    /// Where keys and certificates are kept; else where the system wants it.
    pub storage: Option<PathBuf>,
    /// The authorities that certify the directory's server; else those that the system trusts.
    pub ca: Option<PathBuf>,
}

impl Default for Acme {
    fn default() -> Self {
        Acme {
            directory: DIRECTORY.to_owned(),
            contact: Vec::new(),
            terms_agreed: true,
            storage: None,
            ca: None,
        }
    }
}
