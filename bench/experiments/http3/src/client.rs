//! The clients. Any failure ends the run.

use std::io::Read;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3_quinn::OpenStreams;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use crate::{Failure, PROTOCOL, transport};

/// Takes any certificate, and checks what it signs.
#[derive(Debug)]
struct Any(Arc<CryptoProvider>);

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has TLS 1.3 only".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// An HTTP/3 connection: the handle keeps it open.
struct Open {
    requests: SendRequest<OpenStreams, Bytes>,
    connection: quinn::Connection,
}

fn endpoint() -> Result<quinn::Endpoint, Failure> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Any(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls.resumption = rustls::client::Resumption::disabled();
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport()));
    let mut endpoint = quinn::Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

async fn open(endpoint: &quinn::Endpoint, port: u16) -> Result<Open, Failure> {
    let connection = endpoint.connect((Ipv4Addr::LOCALHOST, port).into(), "localhost")?.await?;
    let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(connection.clone())).await?;
    tokio::spawn(async move { std::future::poll_fn(|context| driver.poll_close(context)).await });
    Ok(Open { requests, connection })
}

async fn ask(requests: &mut SendRequest<OpenStreams, Bytes>) -> Result<(), Failure> {
    let request = http::Request::get("https://localhost/").body(())?;
    let mut stream = requests.send_request(request).await?;
    stream.finish().await?;
    let status = stream.recv_response().await?.status();
    let mut length = 0;
    while let Some(piece) = stream.recv_data().await? {
        length += piece.remaining();
    }
    if (status, length) == (http::StatusCode::OK, 11) { Ok(()) } else { Err("a wrong answer".into()) }
}

/// So many requests in flight on so many connections.
pub async fn hello(port: u16, connections: usize, streams: usize, seconds: u64) -> Result<(), Failure> {
    let endpoint = endpoint()?;
    let (mut tasks, mut kept) = (Vec::new(), Vec::new());
    let end = Instant::now() + Duration::from_secs(seconds);
    for _ in 0..connections {
        let connection = open(&endpoint, port).await?;
        for _ in 0..streams {
            let mut requests = connection.requests.clone();
            tasks.push(tokio::spawn(async move {
                let mut count = 0_u64;
                while Instant::now() < end {
                    ask(&mut requests).await?;
                    count += 1;
                }
                Ok::<u64, Failure>(count)
            }));
        }
        kept.push(connection);
    }
    let mut answers = 0;
    for task in tasks {
        answers += task.await??;
    }
    println!("{answers}");
    Ok(())
}

/// One connection after another, each with one request.
pub async fn handshakes(port: u16, seconds: u64) -> Result<(), Failure> {
    let endpoint = endpoint()?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut count = 0_u64;
    // At least one, by which the server is known to be there.
    while count == 0 || Instant::now() < end {
        let mut connection = open(&endpoint, port).await?;
        ask(&mut connection.requests).await?;
        connection.connection.close(quinn::VarInt::from_u32(0x100), b"");
        count += 1;
    }
    println!("{count}");
    Ok(())
}

/// Connections that were answered once and say nothing more.
pub async fn held(port: u16, count: usize) -> Result<(), Failure> {
    let endpoint = endpoint()?;
    let mut kept = Vec::new();
    for _ in 0..count {
        let mut connection = open(&endpoint, port).await?;
        ask(&mut connection.requests).await?;
        kept.push(connection);
    }
    println!("{count}");
    tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await??;
    Ok(())
}
