//! The server: the same answer to everything.

use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use h3::server::RequestResolver;
use quinn::crypto::rustls::QuicServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::{Failure, PROTOCOL, transport};

pub async fn serve(port: u16, certificate: &str, key: &str) -> Result<(), Failure> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let mut tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport()));
    let endpoint = quinn::Endpoint::server(config, (Ipv4Addr::LOCALHOST, port).into())?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            // The client refuses a run in which anything failed.
            let _ = connection(incoming).await;
        });
    }
    Ok(())
}

async fn connection(incoming: quinn::Incoming) -> Result<(), Failure> {
    let connection = h3_quinn::Connection::new(incoming.await?);
    let mut connection = h3::server::Connection::new(connection).await?;
    while let Some(request) = connection.accept().await? {
        tokio::spawn(async move {
            let _ = answer(request).await;
        });
    }
    Ok(())
}

async fn answer(request: RequestResolver<h3_quinn::Connection, Bytes>) -> Result<(), Failure> {
    let (_, mut stream) = request.resolve_request().await?;
    let head = http::Response::builder()
        .header("content-type", "text/html; charset=UTF-8")
        .header("content-length", "11")
        .header("server", "quinn")
        .body(())?;
    stream.send_response(head).await?;
    stream.send_data(Bytes::from_static(b"Hello World")).await?;
    stream.finish().await?;
    Ok(())
}
