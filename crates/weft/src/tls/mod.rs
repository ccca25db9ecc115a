//! TLS as configured: certificates and keys, tickets, client certificates, and whether files of these have changed.
//!
//! Must not know sockets, workers or requests. Invariant: what [`configure`] returns has been checked: each key fits its
//! certificate, which is valid now and comes with its chain. The master reads everything, before rights are dropped.

mod certificate;
mod pem;
mod resolver;
mod stamps;
mod tickets;
mod variables;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

pub use self::stamps::Stamps;
pub use self::tickets::{Kept, Tickets};
pub use self::variables::{Variables, variables};
use crate::config::{ClientCertificates, Tls};

/// Makes the configuration that every TLS connection shares.
///
/// # Errors
/// One line for each file that cannot be used, with what to do.
pub fn configure(settings: &Tls, http2: bool, tickets: &Tickets) -> Result<Arc<ServerConfig>, Vec<String>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut mistakes = Vec::new();
    let mut pairs = Vec::new();
    for (chain, key) in settings.certificates.iter().zip(&settings.keys) {
        match certificate::read(chain, key, &provider) {
            Ok(pair) => pairs.push(pair),
            Err(why) => mistakes.push(why),
        }
    }
    let verifier = verifier(settings, &provider).unwrap_or_else(|why| {
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
    let mut config = builder.with_cert_resolver(Arc::new(resolver::ByName::new(pairs)));
    if http2 {
        config.alpn_protocols.push(b"h2".to_vec());
    }
    config.alpn_protocols.push(b"http/1.1".to_vec());
    // A client may resume at any worker, so what it resumes travels with it.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = Arc::new(tickets.clone_for(&authority_bytes(settings)));
    config.send_tls13_tickets = 2;
    Ok(Arc::new(config))
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
