//! TLS as configured: certificates and keys, tickets, client certificates, and whether files of these have changed.
//!
//! Must not know sockets, workers or requests. Invariant: what [`configure`] returns has been checked: each key fits its
//! certificate, which is valid now and comes with its chain. The master reads everything, before rights are dropped.

mod certificate;
mod names;
mod pem;
mod resolver;
mod stamps;
mod tickets;
mod variables;

use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

pub use self::certificate::{Pair, read as read_pair};
pub use self::names::uncovered;
pub use self::resolver::ByName;
pub use self::stamps::Stamps;
pub use self::tickets::{Kept, Tickets};
pub use self::variables::{Variables, variables};
use crate::acme::{self, Challenges, PROTOCOL};
use crate::config::{ClientCertificates, Config, SiteNames, Tls};

/// TLS, ready for connections.
#[derive(Debug, Clone)]
pub struct Ready {
    /// What every connection shares.
    pub config: Arc<ServerConfig>,
    /// Which certificate a client gets.
    pub certificates: Arc<ByName>,
    /// What an authority gets that asks whether this server has a name, if it may be asked.
    pub challenges: Option<Arc<Challenges>>,
}

impl Ready {
    /// The same for connections that do not carry HTTP: the protocol of a client that names one is its own affair.
    pub fn without_alpn(&self) -> Arc<ServerConfig> {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols.clear();
        Arc::new(config)
    }
}

/// Makes the configuration that every TLS connection shares. With `challenges`, authorities may ask for names.
///
/// # Errors
/// One line for each file that cannot be used, with what to do.
pub fn configure(
    settings: &Config,
    tickets: &Tickets,
    challenges: Option<Arc<Challenges>>,
) -> Result<Ready, Vec<String>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut mistakes = Vec::new();
    let mut read = |chains: &[PathBuf], keys: &[PathBuf]| -> Vec<certificate::Pair> {
        let pairs = chains.iter().zip(keys).map(|(chain, key)| certificate::read(chain, key, &provider));
        pairs.filter_map(|pair| pair.map_err(|why| mistakes.push(why)).ok()).collect()
    };
    let mut common = read(&settings.tls.certificates, &settings.tls.keys);
    let sites = settings.sites.iter().map(|site| read(&site.certificates, &site.keys)).collect();
    common.extend(automatic(settings, &provider));
    let names = SiteNames::of(&settings.sites);
    let certificates = Arc::new(ByName::new(common, sites, names, challenges.clone()));
    let tls = &settings.tls;
    let verifier = verifier(tls, &provider).unwrap_or_else(|why| {
        mistakes.push(why);
        None
    });
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| vec![format!("TLS cannot be used: {error}")])?;
    let builder = match verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(certificates.clone());
    if settings.server.http2 {
        config.alpn_protocols.push(b"h2".to_vec());
    }
    config.alpn_protocols.push(b"http/1.1".to_vec());
    if challenges.is_some() {
        config.alpn_protocols.push(PROTOCOL.to_vec());
    }
    // A client may resume at any worker, so what it resumes travels with it.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = Arc::new(tickets.clone_for(&authority_bytes(tls)));
    config.send_tls13_tickets = 2;
    Ok(Ready { config: Arc::new(config), certificates, challenges })
}

/// The certificates that weft sees to itself, as far as there are any: what is missing or too old comes later.
fn automatic(settings: &Config, provider: &CryptoProvider) -> Vec<certificate::Pair> {
    let public = settings.acme_names().into_iter().map(|name| acme::file_of(settings, name, false));
    let local = settings.local_names().into_iter().map(|name| acme::file_of(settings, name, true));
    public.chain(local).filter_map(|path| certificate::read(&path, &path, provider).ok()).collect()
}

type Verifier = Arc<dyn ClientCertVerifier>;

/// Who says whether a client's certificate counts.
fn verifier(settings: &Tls, provider: &Arc<CryptoProvider>) -> Result<Option<Verifier>, String> {
    let (Some(path), true) = (&settings.client_ca, settings.client_certificates != ClientCertificates::Off)
    else {
        return Ok(None);
    };
    let mut roots = RootCertStore::empty();
    for certificate in pem::certificates(path)? {
        roots.add(certificate).map_err(|error| {
            format!("{}: an authority's certificate cannot be used: {error}", path.display())
        })?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let builder = match settings.client_certificates {
        ClientCertificates::Optional => builder.allow_unauthenticated(),
        _ => builder,
    };
    let verifier = builder.build().map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Some(verifier))
}

/// What a ticket must not outlive: a client that resumes is not asked for its certificate again.
fn authority_bytes(settings: &Tls) -> Vec<u8> {
    let asked = format!("{:?}", settings.client_certificates);
    let authorities = settings.client_ca.as_ref().and_then(|path| std::fs::read(path).ok());
    [asked.as_bytes(), &authorities.unwrap_or_default()].concat()
}
