//! hyper 1.x on tokio's current_thread runtime: the Rust peer of the bench.
//! Routes: `/sleep` answers after 10 ms, `/park` after ten minutes, `/json` with 10 KB, `/received` says how long the body was,
//! `/sent` has 1 MiB, anything else is answered at once.
//! Usage: bench-hyper PORT

use std::{net::Ipv4Addr, time::Duration};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Bytes, body::Incoming, header, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::net::{TcpListener, TcpSocket};

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("usage: bench-hyper PORT")?.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
        serve(socket.listen(BACKLOG)?).await
    })?;
    Ok(())
}
