//! hyper 1.x on tokio's current_thread runtime, with rustls for TLS: the Rust peer of the bench.
//! Routes: `/sleep` answers after 10 ms, `/park` after ten minutes, `/json` with 10 KB, `/received` says how long the body was,
//! `/sent` has 1 MiB, anything else is answered at once.
//! Usage: bench-hyper PORT [TLS_PORT CERTIFICATE KEY]

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use http_body_util::{BodyExt, Full};
use hyper::server::conn::{http1, http2};
use hyper::{Request, Response, body::Bytes, body::Incoming, header, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde::Serialize;
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio_rustls::rustls::{ServerConfig, crypto::aws_lc_rs::Ticketer};

type Failure = Box<dyn std::error::Error>;

const BACKLOG: u32 = 4096;
const SLEEP: Duration = Duration::from_millis(10);
const PARK: Duration = Duration::from_secs(600);
const ITEMS: u32 = 108;
const SENT_BYTES: usize = 1 << 20;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Serialize)]
struct Item {
    id: u32,
    name: String,
    price: u32,
    stock: bool,
    tags: [&'static str; 3],
}

/// The number that the request gives.
fn first(request: &Request<Incoming>) -> u32 {
    let query = request.uri().query().unwrap_or_default();
    let value = query.split('&').find_map(|pair| pair.strip_prefix("id="));
    value.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

fn items(first: u32) -> Vec<Item> {
    let item = |id| Item { id, name: format!("Item {id}"), price: id * 7, stock: id % 3 == 0, tags: ["red", "large", "new"] };
    (first..first + ITEMS).map(item).collect()
}

/// A new body for each request, as the PHP pages have it.
fn sent(first: u32) -> Bytes {
    let mut body = format!("{first} ").into_bytes();
    body.resize(SENT_BYTES, b'x');
    body.into()
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, BoxError> {
    let mut kind = "text/html; charset=UTF-8";
    let mut body = Bytes::from_static(b"Hello World");
    match request.uri().path() {
        "/sleep" => tokio::time::sleep(SLEEP).await,
        "/park" => tokio::time::sleep(PARK).await,
        "/json" => {
            kind = "application/json";
            body = serde_json::to_vec(&items(first(&request)))?.into();
        }
        "/sent" => body = sent(first(&request)),
        "/received" => body = format!("{} bytes", request.into_body().collect().await?.to_bytes().len()).into(),
        _ => {}
    }
    let mut response = Response::new(Full::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
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
