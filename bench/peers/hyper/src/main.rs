//! hyper 1.x on tokio's current_thread runtime, with rustls for TLS: the Rust peer of the bench.
//! Routes: `/sleep` answers after 10 ms, `/park` after ten minutes, anything else at once.
//! Usage: bench-hyper PORT [TLS_PORT CERTIFICATE KEY]

use std::{convert::Infallible, net::Ipv4Addr, sync::Arc, time::Duration};

use http_body_util::Full;
use hyper::server::conn::{http1, http2};
use hyper::{Request, Response, body::Bytes, body::Incoming, header, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio_rustls::rustls::{ServerConfig, crypto::aws_lc_rs::Ticketer};

type Failure = Box<dyn std::error::Error>;

const BACKLOG: u32 = 4096;
const SLEEP: Duration = Duration::from_millis(10);
const PARK: Duration = Duration::from_secs(600);

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    match request.uri().path() {
        "/sleep" => tokio::time::sleep(SLEEP).await,
        "/park" => tokio::time::sleep(PARK).await,
        _ => {}
    }
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello World")));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/html; charset=UTF-8"));
    headers.insert(header::SERVER, header::HeaderValue::from_static("hyper"));
    Ok(response)
}

async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            // The bench handles clients that disconnect.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
        });
    }
}

/// HTTP/2 or HTTP/1.1, as the client chose by ALPN.
async fn serve_securely(listener: TcpListener, acceptor: TlsAcceptor) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let stream = TokioIo::new(stream);
            if is_http2 {
                let _ = http2::Builder::new(TokioExecutor::new())
                    .serve_connection(stream, service_fn(answer))
                    .await;
            } else {
                let _ = http1::Builder::new().serve_connection(stream, service_fn(answer)).await;
            }
        });
    }
}

fn listen(port: u16) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    socket.listen(BACKLOG)
}

fn acceptor(certificate: &str, key: &str) -> Result<TlsAcceptor, Failure> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ticketer = Ticketer::new()?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn main() -> Result<(), Failure> {
    const USAGE: &str = "usage: bench-hyper PORT [TLS_PORT CERTIFICATE KEY]";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let port: u16 = arguments.first().ok_or(USAGE)?.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if let [_, secure_port, certificate, key] = &arguments[..] {
            let secure = listen(secure_port.parse()?)?;
            tokio::spawn(serve_securely(secure, acceptor(certificate, key)?));
        }
        serve(listen(port)?).await?;
        Ok(())
    })
}
